"""AdaBound."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import LibraryOptimizer


@register("adabound")
class AdaBound(LibraryOptimizer):
    """Adam whose step sizes are bounded more and more tightly, so that it ends as SGD (Luo et al., 2019).

    Weight decay is apart from the gradient. Needs the extra ``optimizers``.

    Attributes:
        betas: How much of the running means of the gradient and of its square is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.
        final_lr: Rate of the SGD it ends as; the schedule multiplies it, too.
        gamma: How fast the bounds close.
        amsbound: Whether the largest mean of squares so far counts instead of the last.

    Examples:
        With bounds that close at once it is gradient descent from the start, with the rate ``final_lr``:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.AdaBound(final_lr=0.1, gamma=1e6, betas=(0.0, 0.999)).build(weights)
        >>> weights[0].grad = torch.tensor([0.01, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.001, -10.0]
    """

    arguments: ClassVar[dict[str, str]] = {"amsbound": "ams_bound"}

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    final_lr: float = knob(0.1, low=1e-2, high=1.0, log=True, gt=0)
    gamma: float = Field(default=1e-3, gt=0)
    amsbound: bool = False
