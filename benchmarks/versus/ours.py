"""Our side of the comparison. Every function here has its like in ``theirs``."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import torch

import neuro_divergent as nd
from timing import call_seconds, mean_step, now
from versus import hourly, products
from versus.series import HORIZON, INPUT_SIZE, SMALL, WINDOWS, daily_series


class Clock(nd.callbacks.Callback):
    """Notes when each step ended, and when each validation did and what it gave."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.times: list[float] = []
        self.validations: list[tuple[float, float]] = []

    def step_end(self, trainer: nd.Trainer) -> None:
        """Note the time."""
        self.times.append(now())

    def validation_end(self, trainer: nd.Trainer) -> None:
        """Note the seconds since the beginning and the error."""
        self.validations.append((time.perf_counter() - self.began, trainer.state.metrics["validation_mae"]))


def fit(name: str, data: Any, steps: int, windows: int = WINDOWS, usual: bool = False) -> tuple[nd.Forecaster, Clock]:
    """Train an architecture with its defaults.

    A step does what NeuralForecast does in one: Adam without clipping, no validation and batches that are always full.
    With ``usual`` it does what ours does by default: AdamW and clipping.
    """
    recipe = {} if usual else {"optimizer": nd.optimizers.Adam(), "clip": None}
    training = nd.TrainingConfig(
        max_steps=steps,
        max_epochs=None,
        batch_size=windows,
        drop_last=True,
        early_stopping=None,
        threads=torch.get_num_threads(),
        **recipe,
    )
    forecaster = nd.Forecaster(
        getattr(nd, name)(), horizon=HORIZON, input_size=INPUT_SIZE, scaler="identity", validation=0, training=training
    )
    clock = Clock()
    return forecaster.fit(data, callbacks=[clock]), clock


def step_seconds(name: str, size: tuple[int, int], steps: int, windows: int = WINDOWS, usual: bool = False) -> float:
    """Return the time of a training step."""
    return mean_step(fit(name, daily_series(*size), steps, windows, usual)[1].times)


def num_parameters(name: str) -> int:
    """Return how many numbers training adjusts."""
    return _fitted(name, SMALL).num_parameters


def matrix_products(name: str) -> list[tuple[products.Matrix, products.Matrix]]:
    """Return the products of a forward and a backward pass."""
    network = getattr(nd, name)().build(nd.models.TaskSpec(horizon=HORIZON, input_size=INPUT_SIZE))
    batch = nd.models.Batch(past_y=torch.randn(WINDOWS, INPUT_SIZE, 1))
    return products.record(lambda: network(batch).abs().mean().backward())


def predict_seconds(name: str, count: int, kind: str, new: bool, calls: int) -> float:
    """Return the latency of a forecast, from the series of training or with a table passed in."""
    assert kind == "polars"
    size = (count, SMALL[1])
    table = daily_series(*size) if new else None
    return call_seconds(lambda: _fitted(name, size).predict(table), calls)


def save(name: str, path: str) -> None:
    """Write a model that was trained for a few steps."""
    _fitted(name, SMALL).save(path)


def learn_hourly(directory: str, blind: bool) -> dict[str, Any]:
    """Train NHITS on the M4 hourly series with our defaults.

    Its validation part is the test part, so that it is watched on the same values; ``blind``, it sees the training part
    alone, and validates on the end of that.
    """
    data = hourly.Hourly(directory)
    training = nd.TrainingConfig(threads=torch.get_num_threads())
    forecaster = nd.Forecaster("nhits", horizon=hourly.HORIZON, validation=hourly.HORIZON, training=training)
    clock = Clock()
    forecaster.fit(data.train if blind else data.whole, callbacks=[clock])
    seconds = time.perf_counter() - clock.began
    assert forecaster.fitted.task.history == hourly.INPUT_SIZE
    scores = data.scores(forecaster.predict(data.train), "forecast")
    return {"seconds": seconds, "validations": clock.validations, "scores": scores}


@lru_cache(maxsize=4)
def _fitted(name: str, size: tuple[int, int]) -> nd.Forecaster:
    return fit(name, daily_series(*size), steps=5, windows=128)[0]
