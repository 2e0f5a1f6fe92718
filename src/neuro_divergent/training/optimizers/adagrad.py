"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("adagrad")
class Adagrad(WrappedOptimizer):
    """Divides the gradient by the root of the sum of all its squares so far (Duchi et al., 2011).

    The steps shrink by themselves, so it wants a larger rate than Adam. Weight decay is added to the gradient.

    Attributes:
        eps: Small number that is added to the divisor, so that it is never zero.

    Examples:
        Under a constant gradient step n is the rate divided by the root of n:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(1)])
        >>> optimizer = nd.optimizers.Adagrad(lr=0.1).build(weights)
        >>> for _ in range(4):
        ...     weights[0].grad, before = torch.ones(1), weights[0].item()
        ...     optimizer.step()
        ...     print(round(weights[0].item() - before, 3))
        -0.1
        -0.071
        -0.058
        -0.05
    """

    elementwise: ClassVar[bool] = True

    lr: float = knob(1e-2, low=1e-3, high=1e-1, log=True, gt=0)
    eps: float = Field(default=1e-10, gt=0)

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        # Its fused form exists for processors only, and there it is the fastest; elsewhere torch chooses.
        on_processor = all(parameter.device.type == "cpu" for group in groups for parameter in group["params"])
        return {"fused": True if on_processor else None}
