"""A learning rate that falls with the square root of the time."""

from __future__ import annotations

import math

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.schedules.base import CurveSchedule, Length, span


@register("inverse_sqrt")
class InverseSqrt(CurveSchedule):
    """Rises in a straight line, then falls as one over the square root of the step (Vaswani et al., 2017).

    The full rate is reached at the end of the rise; the rest of the curve does not depend on how long training is.

    Attributes:
        warmup: Fraction of training to rise over, or number of steps.

    Examples:
        Four times as many steps after the rise have half of the rate:

        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=1000, steps_per_epoch=10)
        >>> [round(nd.schedules.InverseSqrt(warmup=10).factor(step, plan), 3) for step in (0, 9, 39, 159)]
        [0.1, 1.0, 0.5, 0.25]
    """

    warmup: Length = knob(0.1, low=0.01, high=0.3)

    def curve(self, time: int, total: int) -> float:
        rise = max(round(span(self.warmup, total)), 1)
        return min((time + 1) / rise, math.sqrt(rise / (time + 1)))
