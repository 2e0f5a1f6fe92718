"""The one place where element-wise costs become a number."""

from __future__ import annotations

import torch
from torch import Tensor


def weighted_sum(cost: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor | int]:
    """Return the sum of costs, each as often as its weight says, and the sum of the weights.

    Weights broadcast to the costs: 1 for observed and 0 for missing values, or anything else that is not negative;
    ``None`` when all count the same.
    """
    if weight is None:
        return cost.sum(), cost.numel()
    weight = weight.expand_as(cost)
    # A cost without weight may be infinite or NaN; multiplying by 0 would keep that, selecting does not.
    return (cost.where(weight > 0, 0) * weight).sum(), weight.sum()


def mean_of(total: Tensor, weight: Tensor | float) -> Tensor:
    """Divide a weighted sum by the sum of its weights; without any weight it is 0, and so is its gradient."""
    if isinstance(weight, Tensor):
        return total / weight.clamp_min(torch.finfo(weight.dtype).tiny)
    return total / weight


def weighted_mean(cost: Tensor, weight: Tensor | None) -> Tensor:
    """Average costs by their weights; when nothing has weight the result is 0 and so is its gradient."""
    return cost.mean() if weight is None else mean_of(*weighted_sum(cost, weight))
