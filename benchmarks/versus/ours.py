"""Our side of the comparison."""

from __future__ import annotations

import time
from typing import Any

import neuro_divergent as nd
from timing import mean_step
from versus.series import HORIZON, INPUT_SIZE, WINDOWS


class Clock(nd.Callback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def step_end(self, trainer: nd.Trainer) -> None:
        """Note the time."""
        self.times.append(time.perf_counter())


def step_config(steps: int, threads: int, windows: int = WINDOWS, **changes: Any) -> nd.TrainingConfig:
    """Return what NeuralForecast does in a step: Adam without clipping, no validation, batches always full."""
    settings = {"optimizer": nd.Adam(), "clip": None, **changes}
    return nd.TrainingConfig(
        max_steps=steps,
        max_epochs=None,
        batch_size=windows,
        drop_last=True,
        early_stopping=None,
        threads=threads,
        **settings,
    )


def fit(name: str, frame: Any, training: nd.TrainingConfig) -> tuple[nd.Forecaster, float]:
    """Train an architecture with its defaults; return the forecaster and the seconds of a step."""
    clock = Clock()
    forecaster = nd.Forecaster(
        getattr(nd, name)(), horizon=HORIZON, input_size=INPUT_SIZE, scaler="identity", validation=0, training=training
    )
    forecaster.fit(frame, callbacks=[clock])
    return forecaster, mean_step(clock.times)
