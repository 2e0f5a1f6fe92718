"""How long the steps of a training take."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

_FIRST = 10  # steps that warm up
_ENOUGH = 30


class StepTime(Callback):
    """Measures the median time from one step to the next, over the first steps after some that warm up.

    Args:
        found: Called once, with the seconds, when enough steps are measured.
    """

    main_only: ClassVar[bool] = True

    def __init__(self, found: Callable[[float], None] | None = None) -> None:
        self._found = found
        self._times: list[float] = []
        self._last: float | None = None

    @property
    def seconds(self) -> float | None:
        """The median; ``None`` before any step was measured."""
        return median(self._times) if self._times else None

    def step_end(self, trainer: Trainer) -> None:
        if len(self._times) >= _ENOUGH:
            return
        now = time.perf_counter()
        if self._last is not None and trainer.state.step > _FIRST:
            self._times.append(now - self._last)
        self._last = now
        if len(self._times) == _ENOUGH and self._found is not None:
            self._found(median(self._times))

    def validation_end(self, trainer: Trainer) -> None:
        self._last = None  # its time is not that of a step
