"""A learning rate that falls in steps."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Plan, Schedule


@register("step")
class StepDecay(Schedule):
    """Multiplies the rate by ``gamma`` every ``every`` epochs."""

    every: int = Field(30, ge=1)
    gamma: float = Field(0.1, gt=0, le=1)

    def factor(self, step: int, plan: Plan) -> float:
        """Return ``gamma`` to the power of the falls so far."""
        return float(self.gamma ** (step // (self.every * max(plan.steps_per_epoch, 1))))
