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

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> updates, sizes = torch.tensor([[1.0], [1.2], [0.9], [1000.0]]), torch.full((4,), 0.25)
        >>> round(nd.federated.Median().combine(updates, sizes).item(), 2)
        1.1
        >>> round(nd.federated.FedAvg().combine(updates, sizes).item())
        251
    """

    is_mean: ClassVar[bool] = False

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        ordered, count = deltas.sort(dim=0).values, len(deltas)
        return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
