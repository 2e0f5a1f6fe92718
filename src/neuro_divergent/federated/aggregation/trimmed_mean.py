"""The mean of the clients without the extreme ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation

if TYPE_CHECKING:
    from torch import Tensor


@register("trimmed_mean")
class TrimmedMean(Aggregation):
    """Leaves out the largest and smallest updates in each coordinate and takes the mean (Yin et al., 2018).

    Clients count equally.

    Attributes:
        fraction: Fraction that is left out at each end: at least that of the clients that may be hostile.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> updates, sizes = torch.tensor([[1.0], [1.2], [0.9], [1000.0]]), torch.full((4,), 0.25)
        >>> round(nd.federated.TrimmedMean(fraction=0.25).combine(updates, sizes).item(), 2)
        1.1
    """

    is_mean: ClassVar[bool] = False
    fraction: float = Field(default=0.25, ge=0, lt=0.5)

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        cut, count = math.ceil(self.fraction * len(deltas) - 1e-9), len(deltas)
        cut = min(cut, (count - 1) // 2)
        return deltas.sort(dim=0).values[cut : count - cut].mean(dim=0)
