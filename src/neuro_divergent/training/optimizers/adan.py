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

    Attributes:
        betas: How much of the running means of the gradient, of its differences and of the squares of both is
            kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.

    Examples:
        The first step has the size of the rate, as Adam's has:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.Adan(lr=0.1).build(weights)
        >>> weights[0].grad = torch.tensor([0.01, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.1, -0.1]
    """

    betas: tuple[Beta, Beta, Beta] = (0.98, 0.92, 0.99)
    eps: float = Field(default=1e-8, gt=0)
