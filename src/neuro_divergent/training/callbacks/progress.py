"""Progress of a training, where it was asked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.formatting import format_number
from neuro_divergent.core.progress import Task, is_asked_for, track
from neuro_divergent.training.callbacks.base import Callback, ClosingCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_SECONDS_BETWEEN = 0.1  # two updates; more would be a cost for fast steps


class TrainingProgress(ClosingCallback):
    """Says how many steps are done, with the losses of the last row of the history."""

    main_only: ClassVar[bool] = True
    in_refit: ClassVar[bool] = True
    in_vectorized: ClassVar[bool] = True

    def __init__(self) -> None:
        self._task: Task | None = None
        self._next = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        name = f"Training on {trainer.label}" if trainer.label else "Training"
        self._task = track(name, trainer.plan.total_steps)
        self._task.done = trainer.state.step
        self._task.__enter__()

    def step_end(self, trainer: Trainer) -> None:
        now = time.perf_counter()
        if now >= self._next and self._task is not None:
            self._next = now + _SECONDS_BETWEEN
            self._task.update(trainer.state.step)

    def logged(self, trainer: Trainer) -> None:
        if self._task is not None:
            self._task.update(trainer.state.step, _losses(trainer))

    def fit_end(self, trainer: Trainer) -> None:
        if self._task is not None:
            self._task.done = trainer.state.step
        super().fit_end(trainer)

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        self._end(error)

    def close(self) -> None:
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.__exit__(None if error is None else type(error), error, None)


def progress_callbacks() -> list[Callback]:
    """Return what shows a training: nothing unless progress was asked for."""
    return [TrainingProgress()] if is_asked_for() else []


def _losses(trainer: Trainer) -> str:
    row = trainer.history.rows[-1]
    found = {"loss": row["train_loss"], "validation loss": trainer.state.metrics.get("validation_loss")}
    return ", ".join(f"{name} {format_number(value)}" for name, value in found.items() if value is not None)
