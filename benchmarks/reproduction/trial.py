"""Training and testing one model on one data set."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import neuro_divergent as nd
from neuro_divergent.core.seeding import seeded
from neuro_divergent.data.batcher import WindowBatcher, fit_series_scaler
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.scaling.base import WindowScaler
from neuro_divergent.data.splits import Split, split_by_time
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.baselines import Baselines
from neuro_divergent.forecasting.fitted import build_network
from neuro_divergent.forecasting.predictor import Predictor, WindowForecasts
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles
from reproduction.published import DATA_SETS, Name
from reproduction.recipes import Recipe, recipe_for

_CHUNK = 512  # windows that are forecast at once: all channels of all of them must fit in memory


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out of a trial, on the z-scored scale.

    Attributes:
        rate: Learning rate of the recipe.
        seed: Decides weights and order.
        validation: Best validation loss, over all windows with stride 1; may be unknown where ``rounded``.
        epochs: Epochs that were trained.
        mse: MSE on all test windows with stride 1.
        mae: MAE on the same.
        baseline_mse: MSE of repeating the last value, on the same.
        baseline_mae: MAE of the same.
        windows: Test windows.
        seconds: Time of training and testing.
        rounded: Digits after the point that are known of all errors, where these were copied from an earlier page or a
            log because the file of the run is lost; ``None`` for a run of which everything is known.
        full_batches_mse: MSE on the test windows that the published code tests, if it leaves out some; unknown for runs
            before this was measured.
        full_batches_mae: MAE on the same.
    """

    rate: float
    seed: int
    epochs: int
    mse: float
    mae: float
    baseline_mse: float
    baseline_mae: float
    windows: int
    seconds: float
    validation: float | None = None
    rounded: int | None = None
    full_batches_mse: float | None = None
    full_batches_mae: float | None = None


def run(name: Name, seed: int, directory: Path) -> Result:
    """Train a model by its recipe and test it; the seed decides weights and order."""
    began = time.perf_counter()
    torch.set_num_threads(1)
    recipe = recipe_for(name)
    split, batcher = _prepare(name, recipe, directory)
    channels = batcher.panel.num_series
    spec = nd.models.TaskSpec(
        horizon=name.horizon, input_size=recipe.input_size, channels=channels, future=batcher.panel.future
    )
    with seeded(seed):
        task = Task(horizon=name.horizon, input_size=recipe.input_size, scaler=recipe.scaler)
        network = build_network(recipe.architecture, task, spec)
    if recipe.initial is not None:
        recipe.initial(network, seed)
    train = WindowLoader(split.train, batcher, Order(batch_size=recipe.batch_size, seed=seed, drop_last=True))
    check = WindowLoader(_dense(split.validation), batcher, Order(batch_size=_CHUNK // channels, shuffle=False))
    trainer = nd.Trainer(network, recipe.loss, recipe.training(len(train), seed))
    history = trainer.fit(train, check).frame()["validation_loss"].drop_nulls()
    predictor, test = Predictor(network, recipe.loss, None), _dense(split.test)
    errors = _test(predictor, batcher, test)
    if name.source.test_batch is not None:
        full = _test(predictor, batcher, _full_batches(test, name.source.test_batch))
        errors |= {"full_batches_mse": full["mse"], "full_batches_mae": full["mae"]}
    return Result(
        rate=recipe.rate,
        seed=seed,
        validation=float(history.min()),
        epochs=len(history),
        **errors,
        seconds=time.perf_counter() - began,
    )


def _prepare(name: Name, recipe: Recipe, directory: Path) -> tuple[Split, WindowBatcher]:
    """Return the windows of all parts, and how they are cut: z-scored by the training part, all channels at once."""
    data, length = DATA_SETS[name.data], recipe.input_size
    schema = nd.Schema(future=recipe.calendar)
    panel = build_panel(data.read(directory, calendar=recipe.calendar), schema)
    split = split_by_time(
        panel, input_size=length, horizon=name.horizon, validation=data.validation, test=data.test, joint=True
    )
    assert (split.train.ends - panel.offsets[:-1] == data.train).all()
    scaler = nd.scalers.StandardSeriesScaler()
    numbers = fit_series_scaler(scaler, panel, split.train.ends)
    window_scaler = WindowScaler.from_dict(recipe.scaler)
    return split, WindowBatcher(panel, length, name.horizon, window_scaler, scaler, numbers, joint=True)


def _test(predictor: Predictor, batcher: WindowBatcher, windows: Windows) -> dict[str, float]:
    """Return the errors of a model and of repeating the last value, over all windows."""
    assert batcher.scaler_params is not None
    spread = batcher.scaler_params[:, 1]
    sums, values = np.zeros(4), 0
    for part in _parts(windows):
        found = WindowForecasts.of(part, batcher, RequestedQuantiles(), predictor.values)
        last = Baselines(batcher.panel, found.series, found.rows, windows.horizon, season_length=1).last_value()
        for place, forecast in enumerate((found.point, last)):
            error = (forecast.astype(np.float64) - found.actual) / spread[found.series][:, None]
            sums[2 * place : 2 * place + 2] += np.square(error).sum(), np.abs(error).sum()
        values += found.actual.size
    mse, mae, baseline_mse, baseline_mae = (sums / values).tolist()
    return {
        "mse": mse,
        "mae": mae,
        "baseline_mse": baseline_mse,
        "baseline_mae": baseline_mae,
        "windows": len(windows),
    }


def _full_batches(windows: Windows, size: int) -> Windows:
    """Return the windows with stride 1 without those after the last full batch."""
    count = len(windows) // size * size
    return dataclasses.replace(windows, ends=windows.begins + count + windows.horizon - 1)


def _parts(windows: Windows) -> Iterator[Windows]:
    """Yield windows with stride 1 in pieces of bounded size."""
    for first in range(0, len(windows), _CHUNK):
        begins = windows.begins + first
        ends = np.minimum(begins + _CHUNK + windows.horizon - 1, windows.ends)
        yield dataclasses.replace(windows, begins=begins, ends=ends)


def _dense(windows: Windows) -> Windows:
    return dataclasses.replace(windows, step=1)
