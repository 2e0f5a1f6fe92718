"""Measuring a network's errors on windows it was not trained on."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.gather import Gather
from neuro_divergent.data.windows import Integers, Windows
from neuro_divergent.forecasting.copula import Copula, share_below
from neuro_divergent.forecasting.intervals import Intervals
from neuro_divergent.forecasting.paths import draws_paths, forecast_from
from neuro_divergent.forecasting.predictor import by_series
from neuro_divergent.losses.base import Loss
from neuro_divergent.training.thread_count import network_threads

_ROWS = 1024  # windows that go through the network at once
_RANKED = 1000  # windows of a series that tell how steps go together


class Measured(NamedTuple):
    """What windows that training did not see tell about a network; ``None`` where there are none.

    Attributes:
        intervals: How far it missed.
        copula: How the steps it missed go together; ``None`` also where there is one step, or where the network draws
            each given the steps before.
    """

    intervals: Intervals | None
    copula: Copula | None


def measure_errors(
    network: nn.Module, loss: Loss, gather: Gather, windows: Windows, *, most: int = 2000
) -> Intervals | None:
    """Measure absolute errors of a network on windows it was not trained on.

    Windows overlap, one row apart; at most ``most`` of them are used, evenly spread.
    """
    return measure(network, loss, gather, windows, most=most, together=False).intervals


def measure(
    network: nn.Module, loss: Loss, gather: Gather, windows: Windows, *, most: int = 2000, together: bool = True
) -> Measured:
    """Measure errors of a network on windows it was not trained on, and how those of its steps go together.

    Windows overlap, one row apart; at most ``most`` of them are used, evenly spread.
    """
    dense = dataclasses.replace(windows, step=1)
    if not len(dense):
        return Measured(None, None)
    chosen = np.unique(np.linspace(0, len(dense) - 1, min(most, len(dense))).round().astype(np.int64))
    channels = gather.panel.num_series if gather.joint else 1
    together = together and gather.horizon > 1 and not draws_paths(network, loss)
    ranked = np.random.default_rng(0).permutation(len(chosen) * channels)[: _RANKED if together else 0]
    errors, scores = [], []
    with torch.inference_mode():
        for first in range(0, len(chosen), _ROWS):
            batch = gather.windows(*dense.locate(chosen[first : first + _ROWS]))
            assert batch.future_y is not None
            with using_threads(network_threads(network, batch.past_y)):
                raw = forecast_from(network, batch)
            error = batch.future_y - loss.forecast(raw, (), batch).point
            if not gather.scaler.applied and batch.scale is not None:
                error = error / batch.scale
            if batch.future_mask is not None:
                error = error.masked_fill(batch.future_mask == 0, torch.nan)
            errors.append(by_series(error).cpu())
            here = np.sort(ranked[(ranked >= first * channels) & (ranked < (first + _ROWS) * channels)])
            scores.append(_scores(loss, raw, batch, errors[-1], here - first * channels))
    complete = _complete(torch.cat(errors).abs())
    return Measured(
        Intervals(complete.sort(0).values) if len(complete) else None, Copula.of(_complete(torch.cat(scores)))
    )


def _scores(loss: Loss, raw: Tensor, batch: Batch, error: Tensor, picked: Integers) -> Tensor:
    """Return how high what happened is in what was forecast, for some windows of single series, ``(picked, horizon)``.

    Of a distribution it is the share below what happened, of a point the error itself.
    """
    if not loss.probabilistic or not len(picked):
        return error[picked]

    def some(values: Tensor) -> Tensor:
        return by_series(values)[torch.from_numpy(picked).to(values.device)].unsqueeze(2)

    def scale(values: Tensor | None) -> Tensor | None:
        return None if values is None else some(values)

    assert batch.future_y is not None
    # One series at a time, with what a loss looks at.
    alone = Batch(
        some(batch.past_y),
        some(batch.past_mask.expand_as(batch.past_y)),
        loc=scale(batch.loc),
        scale=scale(batch.scale),
        unit_loc=scale(batch.unit_loc),
        unit_scale=scale(batch.unit_scale),
    )
    share = share_below(loss, some(raw), some(batch.future_y), alone)
    return share.squeeze(2).cpu().masked_fill(error[picked].isnan(), torch.nan)


def _complete(values: Tensor) -> Tensor:
    """Return the windows in which every step was observed."""
    return values[~values.isnan().any(1)]
