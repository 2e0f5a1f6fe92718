"""Rising before falling."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

from pydantic import Field

from neuro_divergent.core.config import knob
from neuro_divergent.training.schedules.base import CurveSchedule, span

Warmup = Annotated[int, Field(ge=1)] | Annotated[float, Field(ge=0, lt=1)]
"""A ``Length`` that may be nothing."""


class WarmupSchedule(CurveSchedule):
    """Rises in a straight line to the full rate, then falls.

    Step t of a rise of w steps has the factor ``(t + 1) / (w + 1)``: the first step has a rate already, and the step
    after the rise has the full one.

    Attributes:
        warmup: Fraction of training to rise over, or number of steps.
    """

    warmup: Warmup = knob(0.1, low=0.0, high=0.3)

    @abstractmethod
    def fall(self, progress: float) -> float:
        """Return the factor after the rise; progress goes from 0 to 1."""

    def curve(self, time: int, total: int) -> float:
        rise = round(span(self.warmup, total))
        if time < rise:
            return (time + 1) / (rise + 1)
        return self.fall(min((time - rise) / max(total - rise, 1), 1.0))
