"""The update that is closest to the others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation

if TYPE_CHECKING:
    from torch import Tensor


@register("krum")
class Krum(Aggregation):
    """Takes the one update with the least distance to its nearest neighbours (Blanchard et al., 2017).

    Each update is scored by the squared distances to its ``clients - hostile - 2`` nearest others.

    Attributes:
        fraction: Fraction of the clients that may be hostile, below a half.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> updates, sizes = torch.tensor([[1.0], [1.2], [1.1], [1000.0]]), torch.full((4,), 0.25)
        >>> rule = nd.federated.Krum(fraction=0.25)
        >>> rule.hostile(len(updates))
        1
        >>> round(rule.combine(updates, sizes).item(), 1)
        1.0
    """

    is_mean: ClassVar[bool] = False
    fraction: float = Field(default=0.25, ge=0, lt=0.5)

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        return deltas[self.scores(deltas).argmin()]

    def scores(self, deltas: Tensor) -> Tensor:
        """Return the score of each update; the least is the best."""
        count = len(deltas)
        nearest = min(max(count - self.hostile(count) - 2, 1), max(count - 1, 1))
        centred = deltas - deltas[0]  # distances by products lose digits far from zero
        squares = centred.square().sum(dim=1)
        distances = (squares[:, None] + squares[None, :] - 2 * centred @ centred.T).clamp_min(0)
        distances.fill_diagonal_(math.inf if count > 1 else 0.0)
        return distances.sort(dim=1).values[:, :nearest].sum(dim=1)

    def hostile(self, count: int) -> int:
        """Return how many of a number of clients may be hostile."""
        return math.ceil(self.fraction * count - 1e-9)
