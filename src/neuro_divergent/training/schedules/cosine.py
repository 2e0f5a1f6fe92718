"""Learning rates that fall along half a cosine."""

from __future__ import annotations

import math

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.schedules.base import Plan, Schedule


@register("cosine")
class Cosine(Schedule):
    """Falls from the full rate to ``final`` times it along half a cosine over all of training."""

    final: float = Field(0.0, ge=0, le=1)

    def factor(self, step: int, plan: Plan) -> float:
        """Return the height of the cosine."""
        return _fall(step / max(plan.total_steps, 1), self.final)


@register("warmup_cosine")
class WarmupCosine(Cosine):
    """Rises in a straight line over the first share of training, then falls along half a cosine.

    Attributes:
        warmup: Share of all steps to rise over.
        final: Factor at the end.
    """

    warmup: float = knob(0.1, low=0.0, high=0.3, ge=0, lt=1)

    def factor(self, step: int, plan: Plan) -> float:
        """Return the height of the line or of the cosine."""
        rise = round(self.warmup * plan.total_steps)
        if step < rise:
            return (step + 1) / (rise + 1)
        return _fall((step - rise) / max(plan.total_steps - rise, 1), self.final)


def _fall(progress: float, final: float) -> float:
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
