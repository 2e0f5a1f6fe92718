"""A learning rate that falls along a power of the time that is left."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.schedules.base import CurveSchedule


@register("polynomial")
class Polynomial(CurveSchedule):
    """Falls from the full rate to ``final`` times it along a power of the fraction of training that is left.

    Attributes:
        power: 1 falls in a straight line, more falls early, less falls late.
        final: Factor at the end.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [round(nd.schedules.Polynomial(power=2.0).factor(step, plan), 3) for step in (0, 50, 90, 100)]
        [1.0, 0.25, 0.01, 0.0]
    """

    power: float = knob(2.0, low=0.5, high=4.0, gt=0)
    final: float = Field(default=0.0, ge=0, le=1)

    def curve(self, time: int, total: int) -> float:
        return float(self.final + (1 - self.final) * (1 - min(time / total, 1.0)) ** self.power)
