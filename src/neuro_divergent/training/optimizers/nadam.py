"""NAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Beta, GroupedOptimizer, batches

if TYPE_CHECKING:
    import torch


@register("nadam")
class NAdam(GroupedOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    Weight decay is apart from the gradient, as in AdamW, unless ``decoupled`` is off.

    Attributes:
        momentum_decay: How fast the first beta grows to its full value.
    """

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    momentum_decay: float = Field(default=4e-3, ge=0)
    decoupled: bool = True

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        from torch.optim import NAdam

        return NAdam(
            groups,
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
            momentum_decay=self.momentum_decay,
            decoupled_weight_decay=self.decoupled,
            foreach=batches(groups),
        )
