"""Adan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Beta, GroupedOptimizer, batches
from neuro_divergent.training.optimizers.library import library

if TYPE_CHECKING:
    import torch


@register("adan")
class Adan(GroupedOptimizer):
    """Adam with Nesterov's momentum taken from the differences of gradients (Xie et al., 2022).

    Weight decay divides the weights after the step. Needs the extra ``optimizers``.
    """

    betas: tuple[Beta, Beta, Beta] = (0.98, 0.92, 0.99)
    eps: float = Field(default=1e-8, gt=0)

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return library(self.name).Adan(  # type: ignore[no-any-return]
            groups, lr=self.lr, betas=self.betas, eps=self.eps, foreach=batches(groups)
        )
