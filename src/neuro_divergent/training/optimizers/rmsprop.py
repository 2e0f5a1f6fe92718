"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import GroupedOptimizer, batches

if TYPE_CHECKING:
    import torch


@register("rmsprop")
class RMSprop(GroupedOptimizer):
    """Divides the gradient by a running root mean square of itself (Hinton, 2012)."""

    alpha: float = Field(default=0.99, gt=0, lt=1)
    eps: float = Field(default=1e-8, gt=0)
    momentum: float = Field(default=0.0, ge=0, lt=1)

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        from torch.optim import RMSprop

        return RMSprop(
            groups, lr=self.lr, alpha=self.alpha, eps=self.eps, momentum=self.momentum, foreach=batches(groups)
        )
