"""Reports of a training to the pruner of its study."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from neuro_divergent.search.pruners.base import REPORTS
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.arrays import Floats
    from neuro_divergent.core.spec import Batch
    from neuro_divergent.training.engine import Trainer

# In the units of the data, or of the naive error of each series, so that trials with other losses and scalers are
# comparable.
_ABSOLUTE, _SCALED = "mae", "scaled_mae"


class Reporter(Callback):
    """Reports the best validation error so far at every twentieth of the steps, and stops what is pruned.

    Args:
        report: Called with the number of the report and the value; returns whether to end training.
        sign: -1 if the study maximises its objective, so that less of an error is more.

    Attributes:
        scale: Naive error of each series, ``(num_series,)``, that errors are divided by; those of a series without one
            do not count. ``None`` for errors in the units of the data.
        joint: Whether windows span all series, as channels.
        is_pruned: Whether it has stopped training.
    """

    def __init__(self, report: Callable[[int, float], bool], sign: int = 1) -> None:
        self._report, self._sign = report, sign
        self._best: float | None = None
        self._reported = 0
        self.scale: Floats | None = None
        self.joint = False
        self.is_pruned = False

    def fit_start(self, trainer: Trainer) -> None:
        """Have scaled errors measured in validations as well; the forecasts are made once for both."""
        if self.scale is None:
            return
        import numpy as np
        import torch

        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(self.scale > 0, 1 / self.scale, 0.0)
        factors = torch.from_numpy(inverse).float().to(trainer.device)
        measure, known = trainer.metrics[_ABSOLUTE], {}

        def absolute(output: Tensor, batch: Batch) -> Tensor:
            known["values"] = measure(output, batch)
            return known["values"]

        def scaled(output: Tensor, batch: Batch) -> Tensor:
            return known.pop("values") * (factors if self.joint else factors[batch.series][:, None, None])

        trainer.metrics |= {_ABSOLUTE: absolute, _SCALED: scaled}  # in this order, also where one was there before

    def validation_end(self, trainer: Trainer) -> None:
        value = trainer.state.metrics.get(f"validation_{_ABSOLUTE if self.scale is None else _SCALED}")
        if value is None:
            return
        now = int(REPORTS * trainer.progress)
        before = range(self._reported + 1, now)
        if self._best is not None:  # what was known when those reports were due
            for number in before:
                self._send(trainer, number, self._best)
        self._best = value if self._best is None else min(self._best, value)
        if now > self._reported:
            self._send(trainer, now, self._best)
        self._reported = max(self._reported, now)

    def _send(self, trainer: Trainer, number: int, value: float) -> None:
        if self._report(number, self._sign * value) and not self.is_pruned and number < REPORTS:
            self.is_pruned = True
            trainer.stop(f"pruned at {number} of {REPORTS} reports", requested=True)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "reported": self._reported}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._best, self._reported = state["best"], state["reported"]
