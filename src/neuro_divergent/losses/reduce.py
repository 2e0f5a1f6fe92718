"""The one place where element-wise costs become a number."""

from __future__ import annotations

from torch import Tensor


def masked_mean(cost: Tensor, mask: Tensor | None) -> Tensor:
    """Average the costs whose mask is 1.

    Args:
        cost: Cost of each value, any shape.
        mask: Same shape with 1 for observed and 0 for missing values, or ``None`` when all were observed. When nothing
            was observed the result is 0 and so is its gradient.
    """
    if mask is None:
        return cost.mean()
    # A masked cost may be infinite or NaN; multiplying by 0 would keep that, selecting does not.
    return cost.where(mask.bool(), 0).sum() / mask.sum().clamp_min(1)
