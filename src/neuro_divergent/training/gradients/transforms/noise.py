"""Noise on gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.gradients.transforms.base import GradientContext, GradientTransform

if TYPE_CHECKING:
    from torch import nn


@register("noise")
class GradientNoise(GradientTransform):
    """Noise on the gradients that fades with training (Neelakantan et al., 2015).

    At step t, counted from 0, each entry is moved by a normal number of variance ``eta / (1 + t) ** gamma``.

    Attributes:
        eta: Variance at the first step.
        gamma: How fast it fades.

    Examples:
        The standard deviation is the root of 0.01 at the first step, and less than a third of that at step 100:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.Parameter(torch.zeros(10_000))
        >>> for step in (0, 99):
        ...     weights.grad = torch.zeros(10_000)
        ...     nd.training.GradientNoise(eta=0.01).apply([weights], nd.training.GradientContext(step=step))
        ...     print(round(weights.grad.std().item(), 2))
        0.1
        0.03
    """

    is_random: ClassVar[bool] = True

    eta: float = Field(default=0.01, gt=0)
    gamma: float = Field(default=0.55, ge=0)

    def apply(self, parameters: list[nn.Parameter], context: GradientContext) -> None:
        import torch

        deviation = (self.eta / (1 + context.step) ** self.gamma) ** 0.5
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.add_(torch.randn_like(parameter.grad), alpha=deviation)
