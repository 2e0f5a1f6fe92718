"""Clipping: bounds on gradients."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.registry import Registry
from neuro_divergent.training.gradients.transforms.base import GradientContext, GradientTransform

if TYPE_CHECKING:
    from torch import Tensor, nn


class Clip(GradientTransform):
    """Bounds gradients, and reports their norm before that."""

    registry: ClassVar[Registry] = Registry("clipping", "neuro_divergent.training.gradients.transforms.clip")

    def apply(self, parameters: list[nn.Parameter], context: GradientContext) -> None:
        norm = self.clip(parameters)
        if context.norm is None:
            context.norm = norm

    @abstractmethod
    def clip(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the gradients and return their common norm before that; one that is not finite leaves them alone."""


@register("norm")
class ClipNorm(Clip):
    """Shrinks all gradients by one factor so that their common norm is at most ``limit``.

    Attributes:
        limit: Largest norm of all gradients together.

    Examples:
        Gradients of norm 5 are divided by 5:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.Parameter(torch.zeros(2))
        >>> weights.grad = torch.tensor([3.0, 4.0])
        >>> nd.ClipNorm(1.0).clip([weights]).item()  # the norm before
        5.0
        >>> [round(entry, 3) for entry in weights.grad.tolist()]
        [0.6, 0.8]
    """

    limit: float = knob(1.0, low=0.1, high=10.0, log=True, gt=0)

    def __init__(self, limit: float = 1.0, **values: Any) -> None:
        super().__init__(**{"limit": limit, **values})

    def clip(self, parameters: list[nn.Parameter]) -> Tensor:
        import torch

        from neuro_divergent.training.gradients.norm import is_mixed, norm_of

        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return torch.zeros(())
        if is_mixed(gradients):
            return torch.nn.utils.clip_grad_norm_(parameters, self.limit)
        # The same as torch's function without sorting gradients by device and type, which costs small networks more
        # than all the arithmetic. A factor of NaN would also hide which of the gradients is to blame.
        norm = norm_of(gradients)
        factor = (self.limit / (norm + 1e-6)).clamp_max(1.0).where(norm.isfinite(), 1.0)
        torch._foreach_mul_(gradients, factor)
        return norm


@register("value")
class ClipValue(Clip):
    """Brings each entry of a gradient between ``-limit`` and ``limit``.

    Attributes:
        limit: Largest size of an entry.

    Examples:
        Entries beyond the limit are cut, which changes the direction:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.Parameter(torch.zeros(3))
        >>> weights.grad = torch.tensor([0.5, 4.0, -9.0])
        >>> _ = nd.training.ClipValue(1.0).clip([weights])
        >>> weights.grad.tolist()
        [0.5, 1.0, -1.0]
    """

    limit: float = Field(default=1.0, gt=0)

    def __init__(self, limit: float = 1.0, **values: Any) -> None:
        super().__init__(**{"limit": limit, **values})

    def clip(self, parameters: list[nn.Parameter]) -> Tensor:
        from torch.nn.utils import clip_grad_value_

        from neuro_divergent.training.gradients.norm import gradient_norm

        norm = gradient_norm(parameters)
        if norm.isfinite():  # else the bounds would hide which of the gradients is to blame
            clip_grad_value_(parameters, self.limit)
        return norm


for _member in (ClipNorm, ClipValue):  # each is a clipping, and a transform among others
    GradientTransform.registry.add(_member.name, _member)


class NoClip(Clip):
    """Leaves gradients as they are, and reports their norm."""

    name: ClassVar[str] = "none"

    def clip(self, parameters: list[nn.Parameter]) -> Tensor:
        from neuro_divergent.training.gradients.norm import gradient_norm

        return gradient_norm(parameters)
