"""A learning rate that falls by the same factor at regular intervals."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Clock, CurveSchedule


@register("exponential")
class Exponential(CurveSchedule):
    """Multiplies the rate by ``gamma`` after every epoch (or step).

    Attributes:
        gamma: Factor each time.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [nd.schedules.Exponential(gamma=0.5).factor(step, plan) for step in (0, 9, 10, 20, 30)]
        [1.0, 1.0, 0.5, 0.25, 0.125]
    """

    per: Clock = "epoch"
    gamma: float = Field(default=0.95, gt=0, le=1)

    def curve(self, time: int, total: int) -> float:
        return float(self.gamma**time)
