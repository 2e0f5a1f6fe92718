"""A learning rate that falls by the same factor at regular intervals."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Clock, CurveSchedule


@register("exponential")
class Exponential(CurveSchedule):
    """Multiplies the rate by ``gamma`` after every epoch (or step)."""

    per: Clock = "epoch"
    gamma: float = Field(default=0.95, gt=0, le=1)

    def curve(self, time: int, total: int) -> float:
        return float(self.gamma**time)
