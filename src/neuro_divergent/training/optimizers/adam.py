"""Adam and AdamW."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("adam")
class Adam(WrappedOptimizer):
    """Adam (Kingma & Ba, 2015), in torch's fused form; weight decay is added to the gradient.

    Attributes:
        betas: How much of the running means of the gradient and of its square is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.
        amsgrad: Whether the largest mean of squares so far counts instead of the last (Reddi et al., 2018).

    Examples:
        The first step has the size of the rate, whatever the gradient is:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(2)])
        >>> optimizer = nd.optimizers.Adam(lr=0.1).build(weights)
        >>> weights[0].grad = torch.tensor([0.01, 100.0])
        >>> optimizer.step()
        >>> [round(weight, 3) for weight in weights[0].tolist()]
        [-0.1, -0.1]
    """

    elementwise: ClassVar[bool] = True

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    amsgrad: bool = False

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        return {"fused": True}


@register("adamw")
class AdamW(Adam):
    """AdamW (Loshchilov & Hutter, 2019), in torch's fused form; weight decay is apart from the gradient.

    Examples:
        Weights decay; biases do not:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> optimizer = nd.AdamW(lr=1e-3, weight_decay=0.01).build(torch.nn.Linear(4, 2))
        >>> [(list(group["params"][0].shape), group["weight_decay"]) for group in optimizer.param_groups]
        [([2, 4], 0.01), ([2], 0.0)]
    """

    weight_decay: float = knob(1e-2, low=1e-6, high=1e-1, log=True, ge=0)
