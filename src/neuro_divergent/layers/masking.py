"""Missing values in the history of a window."""

from __future__ import annotations

from torch import Tensor


def observed(values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Set unobserved values to zero, whatever is stored there.

    Args:
        values: Values of any shape.
        mask: Same shape, 1 where a value was observed and 0 where it was not; ``None`` when every value was observed.

    Returns:
        The values and the mask.
    """
    return (values, None) if mask is None else (values * mask, mask)
