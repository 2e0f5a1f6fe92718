"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer

if TYPE_CHECKING:
    import torch


@register("sgd")
class SGD(WrappedOptimizer):
    """Gradient descent with momentum, in torch's fused form; weight decay is added to the gradient.

    Attributes:
        momentum: How much of the previous step is added to each; 0 for nothing.
        nesterov: Whether the gradient is taken a step of momentum ahead, as Nesterov has it.

    Examples:
        A step is in proportion to the gradient:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.SGD(lr=0.1).build(weights)
        >>> weights[0].grad = torch.tensor([0.01, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.001, -10.0]
    """

    elementwise: ClassVar[bool] = True

    momentum: float = Field(default=0.9, ge=0, lt=1)
    nesterov: bool = False

    @model_validator(mode="after")
    def _looks_ahead_along_something(self) -> SGD:
        if self.nesterov and not self.momentum:
            raise ValueError("sgd: nesterov needs a momentum above 0")
        return self

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        from torch import zeros_like

        optimizer = super().create(groups)
        if self.momentum:
            # The fused form fails when some parameters get their first gradient later than others, as frozen ones do.
            # Momentum that starts from zeros is the same and needs no first step.
            for group in groups:
                for parameter in group["params"]:
                    optimizer.state[parameter]["momentum_buffer"] = zeros_like(parameter)
        return optimizer

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        return {"fused": True}
