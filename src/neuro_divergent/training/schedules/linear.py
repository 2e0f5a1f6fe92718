"""Learning rates along straight lines."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import CurveSchedule
from neuro_divergent.training.schedules.warmup import WarmupSchedule


@register("linear")
class Linear(CurveSchedule):
    """Goes from ``initial`` to ``final`` times the rate in a straight line.

    By default it falls; one that rises is a warm-up for a chain.

    Attributes:
        initial: Factor at the first step.
        final: Factor at the end.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [round(nd.schedules.Linear(final=0.2).factor(step, plan), 3) for step in (0, 50, 100)]
        [1.0, 0.6, 0.2]
    """

    initial: float = Field(default=1.0, ge=0)
    final: float = Field(default=0.0, ge=0)

    def curve(self, time: int, total: int) -> float:
        return straight(self.initial, self.final, min(time / total, 1.0))


@register("warmup_linear")
class WarmupLinear(WarmupSchedule):
    """Rises in a straight line over the first fraction of training, then falls in another.

    Attributes:
        final: Factor at the end.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [round(nd.schedules.WarmupLinear(warmup=0.1).factor(step, plan), 3) for step in (0, 4, 10, 55, 100)]
        [0.091, 0.455, 1.0, 0.5, 0.0]
    """

    final: float = Field(default=0.0, ge=0, le=1)

    def fall(self, progress: float) -> float:
        return straight(1.0, self.final, progress)


def straight(start: float, end: float, progress: float) -> float:
    """Return the height of a straight line on its way from one height to another."""
    return end + (start - end) * (1 - progress)
