"""Penalties on the size of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.gradients.transforms.base import GradientContext, GradientTransform

if TYPE_CHECKING:
    from torch import nn


@register("penalty")
class Penalty(GradientTransform):
    """Adds the gradient of ``l1 * sum(|w|) + l2 / 2 * sum(w ** 2)`` over all weight matrices.

    Biases and the gains and shifts of normalisation layers, recognised by having fewer than two axes, are left alone.
    The loss that is reported stays that of the data.

    Attributes:
        l1: Strength of the penalty on absolute values.
        l2: Strength of the penalty on squares.

    Examples:
        Each weight adds ``l1`` with its sign, and ``l2`` times itself:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.Parameter(torch.tensor([[2.0, -4.0]]))
        >>> weights.grad = torch.zeros(1, 2)
        >>> nd.training.Penalty(l1=0.1, l2=0.01).apply([weights], nd.training.GradientContext())
        >>> [round(entry, 3) for entry in weights.grad[0].tolist()]
        [0.12, -0.14]
    """

    l1: float = Field(default=0.0, ge=0)
    l2: float = Field(default=0.0, ge=0)

    def apply(self, parameters: list[nn.Parameter], context: GradientContext) -> None:
        for parameter in parameters:
            if parameter.grad is None or parameter.ndim < 2:
                continue
            if self.l1:
                parameter.grad.add_(parameter.detach().sign(), alpha=self.l1)
            if self.l2:
                parameter.grad.add_(parameter.detach(), alpha=self.l2)
