"""What every optimizer is: settings that build one of torch's."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component, knob
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import nn


class Optimizer(Component):
    """Settings of an optimizer.

    Weight decay applies to weight matrices only; biases and the gains and shifts of normalisation layers, recognised by
    having fewer than two axes, are left alone, because pulling them to zero regularises nothing.
    """

    registry: ClassVar[Registry] = Registry("optimizer", "neuro_divergent.training.optimizers")

    lr: float = knob(1e-3, low=1e-4, high=1e-2, log=True, gt=0)
    weight_decay: float = knob(0.0, low=1e-6, high=1e-1, log=True, ge=0)

    def build(self, module: nn.Module) -> torch.optim.Optimizer:
        """Return torch's optimizer over the trainable parameters of a module."""
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not self.weight_decay:
            return self.create([{"params": parameters}])
        matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
        others = [parameter for parameter in parameters if parameter.ndim < 2]
        groups: list[dict[str, Any]] = [
            {"params": matrices, "weight_decay": self.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return self.create([group for group in groups if group["params"]])

    @abstractmethod
    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        """Make the optimizer over parameter groups."""
