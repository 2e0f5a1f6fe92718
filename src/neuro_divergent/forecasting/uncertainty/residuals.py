"""Residuals of a network on windows it was not trained on: its errors and the dependence between steps."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.predictor import by_series
from neuro_divergent.forecasting.uncertainty.copula import Copula, cdf_at_target
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.forecasting.uncertainty.paths import draws_paths, forecast_from
from neuro_divergent.losses.base import Loss
from neuro_divergent.training.thread_count import network_threads

_ROWS = 1024  # windows that go through the network at once
_RANKED = 1000  # windows that the dependence between steps is estimated from


class Residuals(NamedTuple):
    """Residual statistics of a network on validation windows; ``None`` where there are none.

    Attributes:
        intervals: Absolute errors by step.
        copula: Dependence between the errors of steps; ``None`` also where there is one step, or where the
            network is autoregressive.
    """

    intervals: Intervals | None
    copula: Copula | None


def fit_residuals(
    network: nn.Module, loss: Loss, batcher: WindowBatcher, windows: Windows, *, most: int = 2000
) -> Residuals:
    """Measure the errors of a network on windows it was not trained on, and the dependence between its steps.

    Windows overlap, one row apart; at most ``most`` of them are used, evenly spread.
    """
    dense = dataclasses.replace(windows, step=1)
    if not len(dense):
        return Residuals(None, None)
    chosen = np.unique(np.linspace(0, len(dense) - 1, min(most, len(dense))).round().astype(np.int64))
    channels = batcher.panel.num_series if batcher.joint else 1
    has_copula = batcher.horizon > 1 and not draws_paths(network, loss)
    ranked = np.random.default_rng(0).permutation(len(chosen) * channels)[: _RANKED if has_copula else 0]
    errors, scores = [], []
    with torch.inference_mode():
        for first in range(0, len(chosen), _ROWS):
            batch = batcher.windows(*dense.locate(chosen[first : first + _ROWS]))
            assert batch.future_y is not None
            with using_threads(network_threads(network, batch.past_y)):
                raw = forecast_from(network, batch)
            error = batch.future_y - loss.forecast(raw, (), batch).point
            if not batcher.scaler.applied and batch.scale is not None:
                error = error / batch.scale
            if batch.future_mask is not None:
                error = error.masked_fill(batch.future_mask == 0, torch.nan)
            errors.append(by_series(error).cpu())
            here = np.sort(ranked[(ranked >= first * channels) & (ranked < (first + _ROWS) * channels)])
            scores.append(_scores(loss, raw, batch, errors[-1], here - first * channels))
    complete = _complete(torch.cat(errors).abs())
    return Residuals(
        Intervals(complete.sort(0).values) if len(complete) else None, Copula.of(_complete(torch.cat(scores)))
    )


def _scores(loss: Loss, raw: Tensor, batch: Batch, error: Tensor, picked: Ints) -> Tensor:
    """Return a score of each observed value within its forecast, for some windows, ``(picked, horizon)``.

    For a distribution it is the distribution function at the observed value, for a point the error.
    """
    if not loss.traits.probabilistic or not len(picked):
        return error[picked]

    def some(values: Tensor) -> Tensor:
        return by_series(values)[torch.from_numpy(picked).to(values.device)].unsqueeze(2)

    def scale(values: Tensor | None) -> Tensor | None:
        return None if values is None else some(values)

    assert batch.future_y is not None
    # One series at a time, with what a loss looks at.
    alone = Batch(
        some(batch.past_y),
        scale(batch.past_mask),
        loc=scale(batch.loc),
        scale=scale(batch.scale),
        unit_loc=scale(batch.unit_loc),
        unit_scale=scale(batch.unit_scale),
    )
    probability = cdf_at_target(loss, some(raw), some(batch.future_y), alone)
    return probability.squeeze(2).cpu().masked_fill(error[picked].isnan(), torch.nan)


def _complete(values: Tensor) -> Tensor:
    """Return the windows in which every step was observed."""
    return values[~values.isnan().any(1)]
