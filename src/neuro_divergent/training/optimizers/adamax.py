"""Adamax."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("adamax")
class Adamax(WrappedOptimizer):
    """Adam that divides by the largest recent gradient instead of a mean of squares (Kingma & Ba, 2015).

    Weight decay is added to the gradient.

    Attributes:
        betas: How much of the running mean of the gradient, and of its largest size, is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.

    Examples:
        One large gradient makes the steps after it small, by the largest entry and not by a mean:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(1)])
        >>> optimizer = nd.optimizers.Adamax(lr=0.1, betas=(0.0, 0.999)).build(weights)
        >>> for gradient in (10.0, 1.0):
        ...     weights[0].grad, before = torch.tensor([gradient]), weights[0].item()
        ...     optimizer.step()
        ...     print(round(weights[0].item() - before, 3))
        -0.1
        -0.01
    """

    elementwise: ClassVar[bool] = True

    lr: float = knob(2e-3, low=2e-4, high=2e-2, log=True, gt=0)
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
