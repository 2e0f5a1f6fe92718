"""NeuralForecast's side of the comparison."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

import neuralforecast.models
import torch
from neuralforecast import NeuralForecast
from pytorch_lightning import Callback

from timing import mean_step
from versus.series import HORIZON, INPUT_SIZE, WINDOWS

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
        self.times.append(time.perf_counter())


def fit(name: str, frame: Any, steps: int, threads: int, windows: int = WINDOWS) -> tuple[NeuralForecast, float]:
    """Train an architecture with its defaults; return the forecaster and the seconds of a step."""
    torch.set_num_threads(threads)
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
    forecaster.fit(frame)
    return forecaster, mean_step(network(forecaster).trainer_kwargs["callbacks"][0].times)


def network(forecaster: NeuralForecast) -> Any:
    """Return the trained model, which is a copy of the one that was passed in."""
    return forecaster.models[0]


def num_parameters(forecaster: NeuralForecast) -> int:
    """Return how many numbers training adjusts."""
    return sum(item.numel() for item in network(forecaster).parameters() if item.requires_grad)
