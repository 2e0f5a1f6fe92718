"""The median of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation

if TYPE_CHECKING:
    from torch import Tensor


@register("median")
class Median(Aggregation):
    """Takes the median of the updates in each coordinate (Yin et al., 2018); clients count equally.

    It withstands fewer than half of the clients sending anything at all.
    """

    is_mean: ClassVar[bool] = False

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        ordered, count = deltas.sort(dim=0).values, len(deltas)
        return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
