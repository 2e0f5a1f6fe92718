"""Draws sample paths after the end of each series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import ConfigError, InputError, check_choice
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import Backend, to_native
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.predictor import Predictor, by_series
from neuro_divergent.forecasting.uncertainty.copula import independent, not_measured
from neuro_divergent.forecasting.uncertainty.paths import draw_paths, forecast_from
from neuro_divergent.training.thread_count import network_threads

Dependence = Literal["auto", "copula", "schaake", "independent"]
DEPENDENCES: tuple[Dependence, ...] = get_args(Dependence)

_VALUES = 2**21  # that are drawn at once


def simulate(context: PredictionContext, num_paths: int, *, seed: int, dependence: Dependence) -> Array:
    """Draw paths of every series in the units of the data, ``(num_paths, num_series, horizon)``.

    Args:
        context: The prepared forecast.
        num_paths: Paths of each series.
        seed: Of the draw.
        dependence: The dependence between steps, as in ``Forecaster.simulate``.
    """
    _check(num_paths, seed, dependence)
    predictor, generator = context.fitted.predictor, np.random.default_rng(seed)
    draw_probabilities = _dependence(predictor, dependence, context.fitted.task.horizon)
    parts: list[Array] = []
    for batch in context.batches:
        size, horizon, channels = len(batch.past_y), context.fitted.task.horizon, batch.past_y.shape[2]
        rows = max(1, _VALUES // (num_paths * horizon * channels))
        for first in range(0, size, rows):
            some = Batch._make(None if item is None else item[first : first + rows] for item in batch)
            count = len(some.past_y)
            probabilities = draw_probabilities(num_paths, count * channels, generator).reshape(
                num_paths, count, channels, horizon
            )
            drawn = _values(predictor, context.batcher, some, probabilities)
            parts.append(by_series(drawn).movedim(-1, 0).cpu().numpy())
    return np.concatenate(parts, axis=1)


def paths_table(index: dict[str, pl.Series], paths: Array, backend: Backend) -> Any:
    """Return paths ``(num_paths, rows of the index)`` as a table: ``path`` (from 0), id, time, ``value``."""
    count, rows = len(paths), paths[0].size
    repeat = np.tile(np.arange(rows), count)
    columns: dict[str, Any] = {"path": np.repeat(np.arange(count), rows)}
    columns |= {name: values.gather(repeat) for name, values in index.items()}
    return to_native({**columns, "value": paths.reshape(-1)}, backend)


def _dependence(
    predictor: Predictor, dependence: Dependence, horizon: int
) -> Callable[[int, int, np.random.Generator], Floats]:
    """Return a function of the numbers of paths and rows that draws probabilities ``(paths, rows, horizon)``."""

    def apart(count: int, rows: int, generator: np.random.Generator) -> Floats:
        return independent(count, rows, horizon, generator)

    if predictor.draws_paths:
        if dependence != "auto":
            raise ConfigError(
                f"dependence={dependence!r}: this network draws each step given the steps before, which is their "
                "dependence. Leave dependence at 'auto'."
            )
        return apart
    if dependence == "independent" or horizon == 1:
        return apart
    if predictor.copula is None:
        raise not_measured()
    return predictor.copula.shuffled if dependence == "schaake" else predictor.copula.gaussian


@torch.inference_mode()
def _values(predictor: Predictor, batcher: WindowBatcher, batch: Batch, probabilities: Floats) -> Tensor:
    """Return the values at probabilities ``(paths, batch, channel, horizon)``, ``(batch, horizon, channel, paths)``."""
    with using_threads(network_threads(predictor.network, batch.past_y)):
        return _drawn(predictor, batcher, batch, probabilities)


def _drawn(predictor: Predictor, batcher: WindowBatcher, batch: Batch, probabilities: Floats) -> Tensor:
    loss = predictor.loss
    probability = torch.from_numpy(probabilities.astype(np.float32)).to(batch.past_y.device).transpose(2, 3)
    probability = probability.clamp(2**-24, 1 - 2**-24)  # both ends may be infinite
    if predictor.draws_paths:
        values = draw_paths(predictor.network, loss, batch, probability)
    else:
        raw = forecast_from(predictor.network, batch)
        if loss.traits.probabilistic:
            values = loss.inverse(raw, probability, batch)
        else:
            values = predictor.around(loss.forecast(raw, (), batch).point, batcher, batch, probability)
    restored = batcher.restore(values.movedim(0, -1), batch)
    return restored.round() if loss.traits.integer_valued else restored


def _check(num_paths: int, seed: int, dependence: str) -> None:
    if isinstance(num_paths, bool) or not isinstance(num_paths, int) or num_paths < 1:
        raise InputError(f"num_paths: {num_paths!r} must be an integer of at least 1.")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed: {seed!r} must be an integer of at least 0.")
    check_choice("dependence", dependence, DEPENDENCES)
