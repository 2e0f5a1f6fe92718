"""A learning rate that goes up and down."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import CurveSchedule, Length, span
from neuro_divergent.training.schedules.linear import straight


@register("cyclic")
class Cyclic(CurveSchedule):
    """Goes up to the full rate and down again in straight lines, over and over (Smith, 2017).

    Attributes:
        cycle: Length of one way up and down: a fraction of training, or a number of steps.
        rise: Fraction of a cycle that goes up.
        low: Factor at the bottom.
        shape: ``triangular`` reaches the full rate in each cycle, ``triangular2`` rises half as far as in the cycle
            before, and ``exp_range`` loses a fraction of its height at each step.
        gamma: What ``exp_range`` multiplies the height with at each step.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.Cyclic(cycle=20, shape="triangular2")
        >>> [round(schedule.factor(step, plan), 3) for step in (0, 10, 20, 30, 40, 50)]
        [0.1, 1.0, 0.1, 0.55, 0.1, 0.325]
    """

    cycle: Length = 0.2
    rise: float = Field(default=0.5, gt=0, lt=1)
    low: float = Field(default=0.1, ge=0, le=1)
    shape: Literal["triangular", "triangular2", "exp_range"] = "triangular"
    gamma: float = Field(default=0.999, gt=0, le=1)

    def curve(self, time: int, total: int) -> float:
        number, progress = divmod(time / max(span(self.cycle, total), 1.0), 1.0)
        up = progress / self.rise if progress < self.rise else (1 - progress) / (1 - self.rise)
        heights = {"triangular": 1.0, "triangular2": 0.5**number, "exp_range": self.gamma**time}
        return straight(self.low, 1.0, up * heights[self.shape])
