"""Reports of a training to the pruner of its study."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from neuro_divergent.search.pruners.base import REPORTS
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_METRIC = "validation_mae"  # in the units of the data, so that trials with other losses and scalers are comparable


class Reporter(Callback):
    """Reports the best validation error so far at every twentieth of the steps, and stops what is pruned.

    Args:
        report: Called with the number of the report and the value; returns whether to end training.
        sign: -1 if the study maximises its objective, so that less of an error is more.
    """

    def __init__(self, report: Callable[[int, float], bool], sign: int = 1) -> None:
        self._report, self._sign = report, sign
        self._best: float | None = None
        self._reported = 0
        self.is_pruned = False

    def validation_end(self, trainer: Trainer) -> None:
        value = trainer.state.metrics.get(_METRIC)
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
