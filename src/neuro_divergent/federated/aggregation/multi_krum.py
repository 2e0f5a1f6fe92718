"""The mean of the updates that are closest to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.krum import Krum

if TYPE_CHECKING:
    from torch import Tensor


@register("multi_krum")
class MultiKrum(Krum):
    """Takes the mean of the ``clients - hostile`` updates with the best scores of Krum (Blanchard et al., 2017).

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> updates, sizes = torch.tensor([[1.0], [1.2], [1.1], [1000.0]]), torch.full((4,), 0.25)
        >>> round(nd.federated.MultiKrum(fraction=0.25).combine(updates, sizes).item(), 2)
        1.1
    """

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        count = len(deltas)
        chosen = self.scores(deltas).argsort(stable=True)[: max(count - self.hostile(count), 1)]
        return deltas[chosen].mean(dim=0)
