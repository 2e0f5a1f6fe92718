"""Adagrad at the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.adaptive import Adaptive

if TYPE_CHECKING:
    from torch import Tensor


@register("fedadagrad")
class FedAdagrad(Adaptive):
    """Adagrad on the mean update (Reddi et al., 2021): steps shrink from round to round.

    Attributes:
        beta1: Decay of the mean of past updates; 0 in the paper.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> rule, weights, moves = nd.federated.FedAdagrad(lr=0.1), torch.zeros(1), [0.0]
        >>> state = rule.init_state(weights)
        >>> for _ in range(4):
        ...     weights, state = rule.step(weights, torch.ones(1), state)
        ...     moves.append(round(weights.item(), 2))
        >>> moves
        [0.0, 0.1, 0.17, 0.23, 0.28]
    """

    beta1: float = Field(default=0.0, ge=0, lt=1)

    def second_moment(self, before: Tensor, squares: Tensor) -> Tensor:
        return before + squares
