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
    """

    beta1: float = Field(default=0.0, ge=0, lt=1)

    def second_moment(self, before: Tensor, squares: Tensor) -> Tensor:
        return before + squares
