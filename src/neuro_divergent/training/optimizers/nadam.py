"""NAdam."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("nadam")
class NAdam(WrappedOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    Weight decay is apart from the gradient, as in AdamW, unless ``decoupled`` is off.

    Attributes:
        betas: How much of the running means of the gradient and of its square is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.
        momentum_decay: How fast the first beta grows to its full value.
        decoupled: Whether weight decay is apart from the gradient; else it is added to it.

    Examples:
        The first step already looks ahead along the momentum that it starts, by 6 % more than the rate:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.NAdam(lr=0.1).build(weights)
        >>> weights[0].grad = torch.tensor([0.01, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.106, -0.106]
    """

    elementwise: ClassVar[bool] = True
    arguments: ClassVar[dict[str, str]] = {"decoupled": "decoupled_weight_decay"}

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    momentum_decay: float = Field(default=4e-3, ge=0)
    decoupled: bool = True
