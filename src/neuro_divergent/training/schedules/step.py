"""Learning rates that fall in steps."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Clock, Length, Plan, Schedule


@register("step")
class StepDecay(Schedule):
    """Multiplies the rate by ``gamma`` each time a number of epochs is over.

    Attributes:
        every: Epochs (or steps, or fraction of training) between two falls.
        gamma: Factor of each fall.
        per: What ``every`` counts.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.StepDecay(every=3, gamma=0.1)
        >>> [round(schedule.factor(step, plan), 3) for step in (0, 29, 30, 59, 60)]
        [1.0, 1.0, 0.1, 0.1, 0.01]
    """

    every: Length = 30
    gamma: float = Field(default=0.1, gt=0, le=1)
    per: Clock = "epoch"

    def factor(self, step: int, plan: Plan) -> float:
        return float(self.gamma ** (step // max(plan.steps(self.every, self.per), 1)))


@register("multi_step")
class MultiStep(Schedule):
    """Multiplies the rate by ``gamma`` at each of some milestones.

    Attributes:
        milestones: When it falls: epochs (or steps, or fractions of training) after the beginning.
        gamma: Factor of each fall.
        per: What ``milestones`` count.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.MultiStep(milestones=(0.5, 0.75), gamma=0.1)
        >>> [round(schedule.factor(step, plan), 3) for step in (0, 49, 50, 74, 75)]
        [1.0, 1.0, 0.1, 0.1, 0.01]
    """

    milestones: tuple[Length, ...] = (0.5, 0.75)
    gamma: float = Field(default=0.1, gt=0, le=1)
    per: Clock = "epoch"

    def factor(self, step: int, plan: Plan) -> float:
        return float(self.gamma ** sum(step >= plan.steps(milestone, self.per) for milestone in self.milestones))
