"""Adamax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta, GroupedOptimizer, batches

if TYPE_CHECKING:
    import torch


@register("adamax")
class Adamax(GroupedOptimizer):
    """Adam that divides by the largest recent gradient instead of a mean of squares (Kingma & Ba, 2015).

    Weight decay is added to the gradient.
    """

    lr: float = knob(2e-3, low=2e-4, high=2e-2, log=True, gt=0)
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        from torch.optim import Adamax

        return Adamax(groups, lr=self.lr, betas=self.betas, eps=self.eps, foreach=batches(groups))
