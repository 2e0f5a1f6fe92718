"""Lion."""

from __future__ import annotations

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import LibraryOptimizer


@register("lion")
class Lion(LibraryOptimizer):
    """Steps of one size in the direction of the sign of the momentum (Chen et al., 2023).

    It wants a rate 3 to 10 times lower and a weight decay 3 to 10 times higher than AdamW. Weight decay is apart from
    the gradient. Needs the extra ``optimizers``.

    Attributes:
        betas: How much of the momentum counts in a step, and how much of it is kept from step to step.

    Examples:
        All entries move by the rate:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(3)])
        >>> optimizer = nd.optimizers.Lion(lr=0.01).build(weights)
        >>> weights[0].grad = torch.tensor([1e-6, 1.0, -100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.01, -0.01, 0.01]
    """

    lr: float = knob(1e-4, low=1e-5, high=1e-3, log=True, gt=0)
    betas: tuple[Beta, Beta] = (0.9, 0.99)
