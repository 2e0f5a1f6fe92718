"""Adadelta."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("adadelta")
class Adadelta(WrappedOptimizer):
    """Takes the size of a step from the size of the steps before it (Zeiler, 2012).

    The rate is a factor on that size and is usually left at 1. Weight decay is added to the gradient.

    Attributes:
        rho: How much of the running means is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.

    Examples:
        Steps begin small, and as large for large gradients as for small ones:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.Adadelta().build(weights)
        >>> weights[0].grad = torch.tensor([1.0, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 4) for weight in weights[0].tolist()]
        [-0.0032, -0.0032]
    """

    elementwise: ClassVar[bool] = True

    lr: float = knob(1.0, low=0.1, high=10.0, log=True, gt=0)
    rho: float = Field(default=0.9, ge=0, lt=1)
    eps: float = Field(default=1e-6, gt=0)
