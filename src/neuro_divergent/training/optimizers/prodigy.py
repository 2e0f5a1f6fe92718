"""Prodigy."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta, Scope
from neuro_divergent.training.optimizers.wrapped import LibraryOptimizer


@register("prodigy")
class Prodigy(LibraryOptimizer):
    """Adam that estimates its own learning rate (Mishchenko & Defazio, 2024).

    The estimate is one number for all parameters, so groups cannot have rates of their own. Leave ``lr`` at 1 and let
    the schedule change it. Weight decay is apart from the gradient. Needs the extra ``optimizers``.

    Attributes:
        betas: How much of the running means of the gradient and of its square is kept at each step.
        eps: Small number that is added to the divisor, so that it is never zero.
        initial: First estimate of the rate; too small costs some steps, too large can diverge.
        growth: Factor on the estimate.
        safeguard: Whether a warm-up is kept from driving the estimate up.

    Examples:
        From a first estimate of a millionth the rate grows by itself while weights go the same way:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(1)])
        >>> optimizer = nd.optimizers.Prodigy().build(weights)
        >>> for _ in range(100):
        ...     weights[0].grad = (weights[0] - 1).detach()  # of half the squared distance to 1
        ...     optimizer.step()
        >>> round(weights[0].item(), 2)
        1.0
    """

    arguments: ClassVar[dict[str, str]] = {"initial": "d0", "growth": "d_coef", "safeguard": "safeguard_warmup"}

    lr: float = knob(1.0, low=0.1, high=10.0, log=True, gt=0)
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    initial: float = Field(default=1e-6, gt=0)
    growth: float = knob(1.0, low=0.5, high=2.0, log=True, gt=0)
    safeguard: bool = True

    @property
    def scope(self) -> Scope:
        return "network"

    @model_validator(mode="after")
    def _has_one_rate(self) -> Prodigy:
        if any(group.rate(self.lr) != self.lr for group in self.groups):
            raise ValueError("prodigy: groups cannot have rates of their own: it estimates one for all parameters")
        return self
