"""Adan."""

from __future__ import annotations

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import LibraryOptimizer


@register("adan")
class Adan(LibraryOptimizer):
    """Adam with Nesterov's momentum taken from the differences of gradients (Xie et al., 2022).

    Weight decay divides the weights after the step. Needs the extra ``optimizers``.
    """

    betas: tuple[Beta, Beta, Beta] = (0.98, 0.92, 0.99)
    eps: float = Field(default=1e-8, gt=0)
