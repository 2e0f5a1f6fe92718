"""Leaving out what was not observed."""

from __future__ import annotations

from torch import Tensor


def observed(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """Set unobserved values to zero, whatever is stored there.

    Args:
        values: Values of any shape.
        mask: Same shape, 1 where a value was observed and 0 where it was not.

    Returns:
        The values, and the mask, or ``None`` instead of it when everything was observed.
    """
    # A loader that knows nothing is missing expands a single one to the full shape. Its strides tell, for free and
    # without reading the device, and a pass over the batch is saved.
    if mask.numel() > 1 and not any(stride for stride, size in zip(mask.stride(), mask.shape, strict=True) if size > 1):
        return values, None
    return values * mask, mask
