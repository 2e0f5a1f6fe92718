"""Learning rates that fall along half a cosine."""

from __future__ import annotations

import math

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import CurveSchedule, Length, span
from neuro_divergent.training.schedules.warmup import WarmupSchedule


@register("cosine")
class Cosine(CurveSchedule):
    """Falls from the full rate to ``final`` times it along half a cosine over all of training.

    Attributes:
        final: Rate at the end, as a fraction of the full rate.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [round(nd.schedules.Cosine(final=0.1).factor(step, plan), 3) for step in (0, 25, 50, 75, 100)]
        [1.0, 0.868, 0.55, 0.232, 0.1]
    """

    final: float = Field(default=0.0, ge=0, le=1)

    def curve(self, time: int, total: int) -> float:
        return half_cosine(1.0, self.final, min(time / total, 1.0))


@register("warmup_cosine")
class WarmupCosine(WarmupSchedule):
    """Rises in a straight line over the first fraction of training, then falls along half a cosine.

    Attributes:
        final: Factor at the end.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [round(nd.WarmupCosine(warmup=0.1).factor(step, plan), 3) for step in (0, 4, 10, 55, 100)]
        [0.091, 0.455, 1.0, 0.5, 0.0]
    """

    final: float = Field(default=0.0, ge=0, le=1)

    def fall(self, progress: float) -> float:
        return half_cosine(1.0, self.final, progress)


@register("cosine_restarts")
class CosineRestarts(CurveSchedule):
    """Falls along half a cosine again and again, from the full rate each time (SGDR, Loshchilov and Hutter, 2017).

    Attributes:
        first_cycle: Length of the first fall (T0): a fraction of training, or a number of steps.
        cycle_growth: How many times longer each fall is than the one before (Tmult).
        final: Factor at the end of each fall.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.CosineRestarts(first_cycle=20, cycle_growth=2)
        >>> [round(schedule.factor(step, plan), 3) for step in (0, 10, 19, 20, 40, 59, 60)]
        [1.0, 0.5, 0.006, 1.0, 0.5, 0.002, 1.0]
    """

    first_cycle: Length = 0.25
    cycle_growth: int = Field(default=1, ge=1)
    final: float = Field(default=0.0, ge=0, le=1)

    def curve(self, time: int, total: int) -> float:
        cycle = max(round(span(self.first_cycle, total)), 1)
        if self.cycle_growth == 1:
            time %= cycle
        while time >= cycle:
            time -= cycle
            cycle *= self.cycle_growth
        return half_cosine(1.0, self.final, time / cycle)


def half_cosine(start: float, end: float, progress: float) -> float:
    """Return the height of half a cosine on its way from one height to another."""
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * progress))
