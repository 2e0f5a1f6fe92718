"""NeuralForecast's side of the comparison. Every function here has its like in ``ours``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import neuralforecast.models
import torch
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import MAE
from pytorch_lightning import Callback

from menagerie.clock import call_seconds, now, step_seconds
from menagerie.pairs import Size
from menagerie.panel import RATE, WINDOWS, named, num_series, panel
from versus.series import HORIZON, INPUT_SIZE
from versus.theirs import QUIET


class Clock(Callback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_batch_end(self, *_: Any) -> None:
        """Note the time."""
        self.times.append(now())


def train(name: str, size: Size, steps: int) -> float:
    """Train for some steps and return the time of one, without logger, checkpoints, progress bar and validation."""
    trained = _fit(name, size, steps).models[0]  # a copy of the one that was passed in, and of its callbacks
    return step_seconds(trained.trainer_kwargs["callbacks"][0].times)


def predict(name: str, size: Size, seconds: float) -> float:
    """Return the time of a forecast for all series of training."""
    return call_seconds(_fitted(name, size).predict, seconds)


def network(name: str, size: Size, seconds: float) -> float:
    """Return the time of the network forward and backward."""
    model = _model(name, size, 1).train()
    # Recurrent models that forecast step by step read the horizon too, but for its last value.
    steps = model.input_size + (HORIZON - 1 if model.RECURRENT else 0)
    history = torch.randn(WINDOWS, steps, num_series(pair) if (pair := named(name)).joint else 1)
    batch = {"insample_y": history, "insample_mask": torch.ones_like(history)}
    batch |= dict.fromkeys(("futr_exog", "hist_exog", "stat_exog"))

    def work() -> None:
        model.zero_grad()
        model(batch).abs().mean().backward()

    return call_seconds(work, seconds)


def num_parameters(name: str, size: Size) -> int:
    """Return how many numbers training adjusts; a complex one counts twice."""
    weights = _model(name, size, 1).parameters()
    return sum(item.numel() * (1 + item.is_complex()) for item in weights if item.requires_grad)


@lru_cache(maxsize=1)
def _fitted(name: str, size: Size) -> NeuralForecast:
    return _fit(name, size, 1)


def _fit(name: str, size: Size, steps: int) -> NeuralForecast:
    forecaster = NeuralForecast([_model(name, size, steps)], freq=1)
    forecaster.fit(panel(named(name)))
    return forecaster


def _model(name: str, size: Size, steps: int) -> Any:
    pair = named(name)
    together = {"n_series": num_series(pair)} if pair.joint else {}
    return getattr(neuralforecast.models, name)(
        h=HORIZON,
        input_size=INPUT_SIZE,
        loss=MAE(),
        max_steps=steps,
        learning_rate=RATE,
        windows_batch_size=WINDOWS,
        scaler_type="identity",
        callbacks=[Clock()],
        **QUIET,
        **together,
        **pair.their_settings(size),
    )
