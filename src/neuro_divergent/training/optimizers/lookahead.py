"""Lookahead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.adam import AdamW
from neuro_divergent.training.optimizers.base import Optimizer, Scope
from neuro_divergent.training.optimizers.library import library

if TYPE_CHECKING:
    import torch
    from torch import nn


@register("lookahead")
class Lookahead(Optimizer):
    """Slow weights that follow those of another optimizer every few steps (Zhang et al., 2019).

    The result are the slow weights, so the optimizer has to be told when weights are used: see ``averages``. Needs the
    extra ``optimizers``.

    Attributes:
        base: The optimizer that runs ahead.
        lr: Learning rate, instead of the one of ``base``.
        every: Steps of the base between two slow ones.
        alpha: Which part of the way the slow weights go.

    Examples:
        Two fast steps lead from 0 to -0.2, and the slow weights go half of that way:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(1)])
        >>> base = nd.optimizers.SGD(lr=0.1, momentum=0.0)
        >>> optimizer = nd.optimizers.Lookahead(base=base, every=2, alpha=0.5).build(weights)
        >>> for _ in range(2):
        ...     weights[0].grad = torch.ones(1)
        ...     optimizer.step()
        >>> round(weights[0].item(), 3)
        -0.1
    """

    averages: ClassVar[bool] = True

    base: Optimizer = AdamW()
    lr: float | None = Field(default=None, gt=0)
    every: int = Field(default=5, ge=1)
    alpha: float = Field(default=0.5, gt=0, le=1)

    @model_validator(mode="after")
    def _averages_once(self) -> Lookahead:
        if self.base.averages:
            raise ValueError(f"lookahead: base: {self.base.name!r} averages weights itself")
        return self

    @property
    def scope(self) -> Scope:
        return self.base.scope

    @property
    def rate(self) -> float:
        return self.base.rate if self.lr is None else self.lr

    def build(self, module: nn.Module, names: Iterable[str] | None = None) -> torch.optim.Optimizer:
        library(self.name)
        from neuro_divergent.training.optimizers.averaging import SlowWeights

        base = self.base if self.lr is None else self.base.replace(lr=self.lr)
        return SlowWeights(base.build(module, names), k=self.every, alpha=self.alpha)
