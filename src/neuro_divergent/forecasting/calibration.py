"""Measuring a network's errors on windows it was not trained on."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import nn

from neuro_divergent.data.gather import Gather
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.intervals import Intervals
from neuro_divergent.forecasting.predictor import by_series
from neuro_divergent.losses.base import Loss

_ROWS = 1024  # windows that go through the network at once


def measure_errors(
    network: nn.Module, loss: Loss, gather: Gather, windows: Windows, *, most: int = 2000
) -> Intervals | None:
    """Measure absolute errors of a network on windows it was not trained on.

    Windows overlap, one row apart; at most ``most`` of them are used, evenly spread.
    """
    dense = dataclasses.replace(windows, step=1)
    if not len(dense):
        return None
    chosen = np.unique(np.linspace(0, len(dense) - 1, min(most, len(dense))).round().astype(np.int64))
    errors = []
    with torch.inference_mode():
        for first in range(0, len(chosen), _ROWS):
            batch = gather.windows(*dense.locate(chosen[first : first + _ROWS]))
            assert batch.future_y is not None
            error = (loss.forecast(network(batch), (), batch).point - batch.future_y).abs()
            if not gather.scaler.applied and batch.scale is not None:
                error = error / batch.scale
            if batch.future_mask is not None:
                error = error.masked_fill(batch.future_mask == 0, torch.nan)
            errors.append(by_series(error).cpu())
    complete = torch.cat(errors)
    complete = complete[~complete.isnan().any(1)]
    return Intervals(complete.sort(0).values) if len(complete) else None
