"""Splitting a series into a slow and a fast part."""

from __future__ import annotations

import torch
from torch import Tensor


def moving_average_matrix(steps: int, window: int) -> Tensor:
    """Return the matrix ``A`` shaped ``(steps, steps)`` for which ``A @ series`` is the centred moving average.

    The ends repeat their edge value, so the first and last points lean on themselves instead of drifting to zero.

    Args:
        steps: Length of the series.
        window: Odd number of steps to average; 1 gives the identity, and it may exceed the length.
    """
    offsets = torch.arange(window) - (window - 1) // 2
    neighbours = (torch.arange(steps)[:, None] + offsets).clamp(0, steps - 1)
    share = torch.full(neighbours.shape, 1.0 / window, dtype=torch.get_default_dtype())
    return torch.zeros(steps, steps).scatter_add_(1, neighbours, share)
