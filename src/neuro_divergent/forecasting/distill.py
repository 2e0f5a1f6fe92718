"""Knowledge distillation: batches with the forecasts of a teacher."""

from __future__ import annotations

import torch

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import WindowLoader
from neuro_divergent.forecasting.fitted import FittedModel


class TaughtLoader(WindowLoader):
    """Batches of windows that also hold what a teacher forecasts for them, on the scale the student sees.

    Args:
        loader: Where the windows come from.
        teacher: A trained model. It reads the same rows through its own history, scaling and covariates, so it may be
            any architecture trained for the same horizon.

    Raises:
        ConfigError: If the teacher forecasts another horizon, needs a longer history than the student's windows have,
            or was trained on other columns.
    """

    def __init__(self, loader: WindowLoader, teacher: FittedModel) -> None:
        student = loader.batcher
        _check(student, teacher)
        super().__init__(loader.windows, student, loader.order, prefetch=loader.prefetch)
        self._numbers = loader._numbers
        self._teacher = teacher
        self._reader = teacher.batcher(student.panel, until=loader.windows.ends)
        self._later = student.input_size - teacher.task.history

    def _made(self, series: Ints, rows: Ints) -> Batch:
        batch = super()._made(series, rows)
        return batch._replace(soft_y=self._forecast(series, rows, batch))

    def _forecast(self, series: Ints, rows: Ints, batch: Batch) -> torch.Tensor:
        """Return the teacher's point forecast ``(batch, horizon, channel)``, scaled like the student's targets."""
        seen = self._reader.windows(series, rows + self._later)
        point, _ = self._teacher.predictor.values(self._reader, seen, ())
        return self.batcher.rescale(point, batch).clone()  # no longer a tensor of inference mode


def _check(student: WindowBatcher, teacher: FittedModel) -> None:
    task = teacher.task
    if task.horizon != student.horizon:
        raise ConfigError(
            f"the teacher forecasts {task.horizon} steps, the student {student.horizon}; they must agree."
        )
    if task.history > student.input_size:
        raise ConfigError(
            f"the teacher reads {task.history} steps of history, the student's windows have {student.input_size}. Give "
            f"the student input_size={task.history} or more."
        )
    if bool(task.joint) != student.joint:
        raise ConfigError("one of teacher and student takes all series at once (joint), the other one by one.")
    names = [
        [feature.name for feature in getattr(side, role)] for role in _ROLES for side in (teacher.spec, student.panel)
    ]
    if names[::2] != names[1::2]:
        raise ConfigError(
            "the teacher was trained with other covariates than the student; they must be the same columns."
        )


_ROLES = ("past", "future", "static")
