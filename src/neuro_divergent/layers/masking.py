"""Missing values in the history of a window."""

from __future__ import annotations

from torch import Tensor


def observed(values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return the values with unobserved ones set to zero, whatever is stored there, and the mask.

    The mask has the same shape, 1 where a value was observed; it is ``None`` when every value was.
    """
    return (values, None) if mask is None else (values * mask, mask)
