"""A learning rate that stays."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Schedule


@register("constant")
class Constant(Schedule):
    """The learning rate of the optimizer at every step."""
