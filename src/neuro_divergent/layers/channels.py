"""Sharing one set of weights over all channels by treating each channel as a row of the batch.

Letters: B batch, L time, C channel, H horizon, P outputs per step, N = B * C rows (the channels of a window adjoin).
"""

from __future__ import annotations

from torch import Tensor


def fold_channels(values_BLC: Tensor) -> Tensor:
    """Return ``(rows, time)``; nothing is copied when there is one channel."""
    return values_BLC.transpose(1, 2).reshape(-1, values_BLC.shape[1])


def unfold_channels(forecast: Tensor, channels: int, horizon: int) -> Tensor:
    """Return ``(batch, horizon, channel, outputs)`` for ``(rows, horizon, outputs)``, the last two flat or not."""
    return forecast.reshape(forecast.shape[0] // channels, channels, horizon, -1).transpose(1, 2)
