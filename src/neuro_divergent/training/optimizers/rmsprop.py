"""RMSprop."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("rmsprop")
class RMSprop(WrappedOptimizer):
    """Divides the gradient by a running root mean square of itself (Hinton, 2012).

    Attributes:
        alpha: How much of the running mean of the squares is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.
        momentum: How much of the previous step is added to each; 0 for nothing.

    Examples:
        The first step is ten times the rate, because the running mean starts from 0:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.RMSprop(lr=0.01, alpha=0.99).build(weights)
        >>> weights[0].grad = torch.tensor([1.0, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.1, -0.1]
    """

    elementwise: ClassVar[bool] = True

    alpha: float = Field(default=0.99, gt=0, lt=1)
    eps: float = Field(default=1e-8, gt=0)
    momentum: float = Field(default=0.0, ge=0, lt=1)
