"""A learning rate that rises once and falls far."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.schedules.base import CurveSchedule, Length, span
from neuro_divergent.training.schedules.cosine import half_cosine
from neuro_divergent.training.schedules.linear import straight


@register("one_cycle")
class OneCycle(CurveSchedule):
    """Rises from a low rate to the full one, then falls to far below the start (Smith and Topin, 2018).

    The rates are those of torch's ``OneCycleLR``, whose ``max_lr`` is the rate of the optimizer here. Momentum stays as
    it is: torch's lowers it while the rate is high, which most optimizers have no single number for.

    Attributes:
        warmup: Fraction of training to rise over, or number of steps.
        start_divisor: The full rate divided by the first one.
        final_divisor: The first rate divided by the last one.
        anneal: Whether rise and fall follow half a cosine or a straight line.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [round(nd.schedules.OneCycle().factor(step, plan), 6) for step in (0, 29, 64, 99)]
        [0.04, 1.0, 0.500002, 4e-06]
    """

    warmup: Length = knob(0.3, low=0.1, high=0.5)
    start_divisor: float = Field(default=25.0, ge=1)
    final_divisor: float = Field(default=1e4, ge=1)
    anneal: Literal["cosine", "linear"] = "cosine"

    def curve(self, time: int, total: int) -> float:
        between = half_cosine if self.anneal == "cosine" else straight
        peak, last = span(self.warmup, total) - 1, total - 1
        start = 1 / self.start_divisor
        if time < peak:
            return between(start, 1.0, time / peak)
        return between(1.0, start / self.final_divisor, min((time - peak) / max(last - peak, 1e-9), 1.0))
