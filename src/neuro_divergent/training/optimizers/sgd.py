"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Optimizer

if TYPE_CHECKING:
    import torch


@register("sgd")
class SGD(Optimizer):
    """Gradient descent with momentum, in torch's fused form."""

    momentum: float = Field(0.9, ge=0, lt=1)
    nesterov: bool = False

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        """Make the optimizer over parameter groups."""
        from torch.optim import SGD

        return SGD(groups, lr=self.lr, momentum=self.momentum, nesterov=self.nesterov, fused=True)
