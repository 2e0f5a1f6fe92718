"""What is done to gradients between the backward pass and the step."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import Component, register
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn


class Clip(Component):
    """Bounds gradients in place."""

    registry: ClassVar[Registry] = Registry("clipping", "neuro_divergent.training.gradients")

    @abstractmethod
    def apply(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the gradients and return their norm before that."""


@register("norm")
class ClipNorm(Clip):
    """Shrinks all gradients by one factor so that their common norm is at most ``limit``."""

    limit: float = Field(1.0, gt=0)

    def __init__(self, limit: float = 1.0, **values: Any) -> None:
        super().__init__(**{"limit": limit, **values})

    def apply(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the norm and return what it was."""
        from torch.nn.utils import clip_grad_norm_

        return clip_grad_norm_(parameters, self.limit)


@register("value")
class ClipValue(Clip):
    """Brings each entry of a gradient between ``-limit`` and ``limit``."""

    limit: float = Field(1.0, gt=0)

    def __init__(self, limit: float = 1.0, **values: Any) -> None:
        super().__init__(**{"limit": limit, **values})

    def apply(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the entries and return the norm before that."""
        from torch.nn.utils import clip_grad_value_, get_total_norm

        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        clip_grad_value_(parameters, self.limit)
        return norm
