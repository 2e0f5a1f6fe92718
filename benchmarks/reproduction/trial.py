"""Training and testing one model on one data set, as published."""

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
from neuro_divergent.data.frame import build_panel
from neuro_divergent.data.gather import Gather, fit_series_scaler
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.splits import Split, split_by_time
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.baselines import Baselines
from neuro_divergent.forecasting.predictor import Predictor
from reproduction.published import DATA_SETS, INPUT_SIZE, SEED, Name

_CHUNK = 512  # windows that are forecast at once: all channels of all of them must fit in memory


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out of a trial, on the z-scored scale.

    Attributes:
        rate: Learning rate of the first epoch.
        seed: Decides weights and order.
        validation: Best validation MSE, over all windows with stride 1.
        epochs: Epochs that were trained.
        mse: MSE on all test windows with stride 1.
        mae: MAE on the same.
        baseline_mse: MSE of repeating the last value, on the same.
        baseline_mae: MAE of the same.
        windows: Test windows.
        seconds: Time of training and testing.
    """

    rate: float
    seed: int
    validation: float
    epochs: int
    mse: float
    mae: float
    baseline_mse: float
    baseline_mae: float
    windows: int
    seconds: float


def run(name: Name, directory: Path, seed: int = SEED) -> Result:
    """Train a model with the published recipe and test it."""
    began = time.perf_counter()
    torch.set_num_threads(1)
    data = DATA_SETS[name.data]
    split, gather = _prepare(name, directory)
    channels = gather.panel.num_series
    spec = nd.TaskSpec(horizon=name.horizon, input_size=INPUT_SIZE, channels=channels)
    with seeded(seed):
        network = nd.Architecture.from_dict(name.model).build(spec)
    train = WindowLoader(split.train, gather, Order(batch_size=data.batch_size, seed=seed, drop_last=True))
    check = WindowLoader(_dense(split.validation), gather, Order(batch_size=_CHUNK // channels, shuffle=False))
    trainer = nd.Trainer(network, nd.MSE(), _recipe(data.rate, seed, len(train)))
    history = trainer.fit(train, check).frame()["validation_loss"].drop_nulls()
    return Result(
        rate=data.rate,
        seed=seed,
        validation=float(history.min()),
        epochs=len(history),
        **_test(Predictor(network, nd.MSE(), None), gather, _dense(split.test)),
        seconds=time.perf_counter() - began,
    )


def _prepare(name: Name, directory: Path) -> tuple[Split, Gather]:
    """Return the windows of all parts, and how they are cut: z-scored by the training part, all channels at once."""
    data = DATA_SETS[name.data]
    panel = build_panel(data.read(directory))
    split = split_by_time(
        panel, input_size=INPUT_SIZE, horizon=name.horizon, validation=data.validation, test=data.test, joint=True
    )
    assert (split.train.ends - panel.offsets[:-1] == data.train).all()
    scaler = nd.StandardSeriesScaler()
    numbers = fit_series_scaler(scaler, panel, split.train.ends)
    return split, Gather(panel, INPUT_SIZE, name.horizon, nd.IdentityScaler(), scaler, numbers, joint=True)


def _recipe(rate: float, seed: int, steps_per_epoch: int) -> nd.TrainingConfig:
    """Return the published recipe: Adam, 10 epochs at most, patience 3, the rate halved after each epoch."""
    return nd.TrainingConfig(
        max_epochs=10,
        max_steps=None,
        optimizer=nd.Adam(lr=rate),
        schedule=nd.StepDecay(every=1, gamma=0.5),
        clip=None,
        early_stopping=nd.EarlyStopping(patience=3, min_delta=0.0),
        validate_every=steps_per_epoch,
        log_every=steps_per_epoch,
        seed=seed,
        threads=1,
        device="cpu",
    )


def _test(predictor: Predictor, gather: Gather, windows: Windows) -> dict[str, float]:
    """Return the errors of a model and of repeating the last value, over all windows."""
    assert gather.fitted is not None
    spread = gather.fitted[:, 1]
    sums, values = np.zeros(4), 0
    for part in _parts(windows):
        found = predictor.windows(gather, part)
        last = Baselines(gather.panel, found.series, found.rows, windows.horizon, season_length=1).last_value()
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


def _parts(windows: Windows) -> Iterator[Windows]:
    """Yield windows with stride 1 in pieces of bounded size."""
    for first in range(0, len(windows), _CHUNK):
        begins = windows.begins + first
        ends = np.minimum(begins + _CHUNK + windows.horizon - 1, windows.ends)
        yield dataclasses.replace(windows, begins=begins, ends=ends)


def _dense(windows: Windows) -> Windows:
    return dataclasses.replace(windows, step=1)
