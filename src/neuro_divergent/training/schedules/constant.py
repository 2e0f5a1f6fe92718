"""A learning rate that stays."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Schedule


@register("constant")
class Constant(Schedule):
    """The learning rate of the optimizer at every step.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> [nd.schedules.Constant().factor(step, plan) for step in (0, 50, 99)]
        [1.0, 1.0, 1.0]
    """
