"""What is done to gradients between the backward pass and the step."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import Component, Config, register
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn


class Clip(Component):
    """Bounds gradients in place."""

    registry: ClassVar[Registry] = Registry("clipping", "neuro_divergent.training.gradients.transforms")

    @abstractmethod
    def apply(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the gradients and return their norm before that."""


@register("norm")
class ClipNorm(Clip):
    """Shrinks all gradients by one factor so that their common norm is at most ``limit``."""

    limit: float = Field(default=1.0, gt=0)

    def __init__(self, limit: float = 1.0, **values: Any) -> None:
        super().__init__(**{"limit": limit, **values})

    def apply(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the norm and return what it was; one that is not finite leaves the gradients alone."""
        import torch

        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return torch.zeros(())
        if len({(gradient.device, gradient.dtype) for gradient in gradients}) > 1:
            return torch.nn.utils.clip_grad_norm_(parameters, self.limit)
        # The same as torch's function without sorting gradients by device and type, which costs small networks more
        # than all the arithmetic. A factor of NaN would also hide which of the gradients is to blame.
        norm = _norm(gradients)
        factor = (self.limit / (norm + 1e-6)).clamp_max(1.0).where(norm.isfinite(), 1.0)
        torch._foreach_mul_(gradients, factor)
        return norm


@register("value")
class ClipValue(Clip):
    """Brings each entry of a gradient between ``-limit`` and ``limit``."""

    limit: float = Field(default=1.0, gt=0)

    def __init__(self, limit: float = 1.0, **values: Any) -> None:
        super().__init__(**{"limit": limit, **values})

    def apply(self, parameters: list[nn.Parameter]) -> Tensor:
        """Bound the entries and return the norm before that."""
        from torch.nn.utils import clip_grad_value_

        norm = gradient_norm(parameters)
        if norm.isfinite():  # else the bounds would hide which of the gradients is to blame
            clip_grad_value_(parameters, self.limit)
        return norm


def gradient_norm(parameters: list[nn.Parameter]) -> Tensor:
    """Return the common norm of all gradients."""
    import torch

    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return torch.zeros(())
    if len({(gradient.device, gradient.dtype) for gradient in gradients}) > 1:
        return torch.nn.utils.get_total_norm(gradients)
    return _norm(gradients)


def _norm(gradients: list[Tensor]) -> Tensor:
    """Return the common norm of gradients of one type on one device."""
    import torch

    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    if norm.device.type == "cpu" and math.isinf(norm):  # perhaps it is only the squares that are too large
        largest = torch.stack(torch._foreach_norm(gradients, math.inf)).max()
        if largest.isfinite():
            scaled = torch._foreach_div(gradients, largest)
            norm = largest * torch.linalg.vector_norm(torch.stack(torch._foreach_norm(scaled)))
    return norm


class GradientNoise(Config):
    """Noise on the gradients that fades with training (Neelakantan et al., 2015).

    At step t each entry is moved by a normal number of variance ``eta / (1 + t) ** gamma``, after clipping, so that the
    norm which is clipped and logged is that of the gradient.

    Attributes:
        eta: Variance at the first step.
        gamma: How fast it fades.
    """

    eta: float = Field(default=0.01, gt=0)
    gamma: float = Field(default=0.55, ge=0)

    def apply(self, parameters: list[nn.Parameter], step: int) -> None:
        """Add the noise of a step, counted from 0."""
        import torch

        deviation = (self.eta / (1 + step) ** self.gamma) ** 0.5
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.add_(torch.randn_like(parameter.grad), alpha=deviation)


def add_penalty(parameters: list[nn.Parameter], *, l1: float, l2: float) -> None:
    """Add the gradient of ``l1 * sum(|w|) + l2 / 2 * sum(w ** 2)`` over all weight matrices.

    Biases and the gains and shifts of normalisation layers, recognised by having fewer than two axes, are left alone.
    The loss that is reported stays that of the data.
    """
    for parameter in parameters:
        if parameter.grad is None or parameter.ndim < 2:
            continue
        if l1:
            parameter.grad.add_(parameter.detach().sign(), alpha=l1)
        if l2:
            parameter.grad.add_(parameter.detach(), alpha=l2)
