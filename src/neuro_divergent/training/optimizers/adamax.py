"""Adamax."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("adamax")
class Adamax(WrappedOptimizer):
    """Adam that divides by the largest recent gradient instead of a mean of squares (Kingma & Ba, 2015).

    Weight decay is added to the gradient.
    """

    elementwise: ClassVar[bool] = True

    lr: float = knob(2e-3, low=2e-4, high=2e-2, log=True, gt=0)
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
