"""Sequences with time first: layers that walk along time then read memory in order, and steps are sliced for free.

Letters: B batch, C channel, L history, H horizon, T time, N = B * C rows, D hidden, E encoded feature.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.layers.covariates import Encoded


def time_first(values_BTC: Tensor) -> Tensor:
    """Return ``(time, row, 1)``, a row for each channel of each window."""
    size, steps, channels = values_BTC.shape
    return values_BTC.transpose(0, 1).reshape(steps, size * channels, 1)


def windows_first(forecast_HNP: Tensor, channels: int) -> Tensor:
    """Return ``(batch, horizon, channel, outputs)``, the channels of a window together again."""
    horizon, rows, outputs = forecast_HNP.shape
    return forecast_HNP.view(horizon, rows // channels, channels, outputs).transpose(0, 1)


def side_by_side(parts: list[Tensor]) -> Tensor:
    """Concatenate the inputs of each step, ``(time, row, ...)``; a single part is not copied."""
    return torch.cat(parts, 2) if len(parts) > 1 else parts[0]


def read_history(values_BLC: Tensor, covariates: Encoded) -> Tensor:
    """Return the inputs of each step of the history, ``(time, row, 1 + E)``: the value, then the covariates."""
    steps = values_BLC.shape[1]
    parts = [time_first(values_BLC)]
    parts += [] if covariates.past is None else [covariates.past.transpose(0, 1)]
    parts += [] if covariates.static is None else [covariates.static.expand(steps, -1, -1)]
    parts += [] if covariates.future is None else [covariates.future[:, :steps].transpose(0, 1)]
    return side_by_side(parts)


def beside_horizon(states_HND: Tensor, covariates: Encoded) -> Tensor:
    """Return the states of the horizon with the covariates known ahead of each step behind them."""
    if covariates.future is None:
        return states_HND
    return torch.cat([states_HND, covariates.future[:, -states_HND.shape[0] :].transpose(0, 1)], 2)


class OverTime(nn.Linear):
    """A linear layer along time, the same for each number of a step."""

    def forward(self, values_TND: Tensor) -> Tensor:
        mixed = torch.addmm(self.bias[:, None], self.weight, values_TND.flatten(1))
        return mixed.view(self.out_features, *values_TND.shape[1:])
