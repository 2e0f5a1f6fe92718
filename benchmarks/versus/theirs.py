"""NeuralForecast's side of the comparison. Every function here has its like in ``ours``."""

from __future__ import annotations

import logging
import time
import warnings
from functools import lru_cache
from typing import Any

import neuralforecast.models
import torch
from neuralforecast import NeuralForecast
from pytorch_lightning import Callback

from timing import call_seconds, mean_step, now
from versus import hourly, products
from versus.series import HORIZON, INPUT_SIZE, SMALL, WINDOWS, daily_series

warnings.filterwarnings("ignore")
for _name in ("pytorch_lightning", "lightning_fabric", "lightning.fabric", "lightning.pytorch"):
    logging.getLogger(_name).setLevel(logging.ERROR)

QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}


class Clock(Callback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_batch_end(self, *_: Any) -> None:
        """Note the time."""
        self.times.append(now())


def fit(name: str, data: Any, steps: int, windows: int = WINDOWS) -> tuple[NeuralForecast, Clock]:
    """Train an architecture with its defaults, without logger, checkpoints, progress bar, validation and scaler."""
    model = getattr(neuralforecast.models, name)(
        h=HORIZON,
        input_size=INPUT_SIZE,
        max_steps=steps,
        windows_batch_size=windows,
        scaler_type="identity",
        callbacks=[Clock()],
        **QUIET,
    )
    forecaster = NeuralForecast([model], freq=1)
    forecaster.fit(data)
    return forecaster, _network(forecaster).trainer_kwargs["callbacks"][0]


def step_seconds(name: str, size: tuple[int, int], steps: int, windows: int = WINDOWS) -> float:
    """Return the time of a training step."""
    return mean_step(fit(name, daily_series(*size), steps, windows)[1].times)


def num_parameters(name: str) -> int:
    """Return how many numbers training adjusts."""
    return sum(item.numel() for item in _network(_fitted(name, SMALL, "polars")).parameters() if item.requires_grad)


def matrix_products(name: str) -> list[tuple[products.Matrix, products.Matrix]]:
    """Return the products of a forward and a backward pass."""
    network = _network(_fitted(name, SMALL, "polars"))
    history = torch.randn(WINDOWS, INPUT_SIZE, 1)
    batch = {"insample_y": history, "insample_mask": torch.ones_like(history)}
    batch |= dict.fromkeys(("futr_exog", "hist_exog", "stat_exog"))
    return products.record(lambda: network(batch).abs().mean().backward())


def predict_seconds(name: str, count: int, kind: str, new: bool, calls: int) -> float:
    """Return the latency of a forecast, from the series of training or with a table passed in."""
    size = (count, SMALL[1])
    table = _table(size, kind) if new else None
    return call_seconds(lambda: _fitted(name, size, kind).predict(table), calls)


def save(name: str, path: str) -> None:
    """Write a model that was trained for a few steps."""
    _fitted(name, SMALL, "polars").save(path)


def learn_hourly(directory: str) -> dict[str, Any]:
    """Train NHITS on the M4 hourly series with their defaults, and a look-back and scaler that suit the series."""
    data = hourly.Hourly(directory)
    model = neuralforecast.models.NHITS(
        h=hourly.HORIZON, input_size=hourly.INPUT_SIZE, scaler_type="robust", max_steps=hourly.STEPS, **QUIET
    )
    forecaster = NeuralForecast([model], freq=1)
    began = time.perf_counter()
    forecaster.fit(data.train)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "scores": data.scores(forecaster.predict(), "NHITS")}


@lru_cache(maxsize=8)
def _fitted(name: str, size: tuple[int, int], kind: str) -> NeuralForecast:
    return fit(name, _table(size, kind), steps=5)[0]


def _table(size: tuple[int, int], kind: str) -> Any:
    table = daily_series(*size)
    return table.to_pandas() if kind == "pandas" else table


def _network(forecaster: NeuralForecast) -> Any:
    """Return the trained model, which is a copy of the one that was passed in."""
    return forecaster.models[0]
