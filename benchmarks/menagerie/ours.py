"""Our side of the comparison. Every function here has its like in ``theirs``."""

from __future__ import annotations

from functools import lru_cache

import torch

import neuro_divergent as nd
from menagerie.clock import call_seconds, now, step_seconds
from menagerie.pairs import Size
from menagerie.panel import RATE, WINDOWS, named, num_series, panel
from neuro_divergent.core.memory import keeping_memory
from neuro_divergent.models.base import Architecture
from versus.series import HORIZON, INPUT_SIZE


class Clock(nd.callbacks.Callback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def step_end(self, trainer: nd.Trainer) -> None:
        """Note the time."""
        self.times.append(now())


def train(name: str, size: Size, steps: int) -> float:
    """Train for some steps and return the time of one, with Adam and without clipping, scaler and validation."""
    forecaster, clock = _forecaster(name, size, steps), Clock()
    forecaster.fit(panel(named(name)), callbacks=[clock])
    return step_seconds(clock.times)


def predict(name: str, size: Size, seconds: float) -> float:
    """Return the time of a forecast for all series of training."""
    return call_seconds(_fitted(name, size).predict, seconds)


def network(name: str, size: Size, seconds: float) -> float:
    """Return the time of the network forward and backward, with memory kept between calls as training keeps it."""
    channels = num_series(pair) if (pair := named(name)).joint else 1
    past, future = (torch.randn(WINDOWS, steps, channels) for steps in (INPUT_SIZE, HORIZON))
    batch = nd.models.Batch(past_y=past, future_y=future)
    made = _architecture(name, size).build(
        nd.models.TaskSpec(horizon=HORIZON, input_size=INPUT_SIZE, channels=channels)
    )

    def work() -> None:
        made.zero_grad()
        made(batch).abs().mean().backward()

    with keeping_memory():
        return call_seconds(work, seconds)


def num_parameters(name: str, size: Size) -> int:
    """Return how many numbers training adjusts."""
    return _fitted(name, size).num_parameters


@lru_cache(maxsize=1)
def _fitted(name: str, size: Size) -> nd.Forecaster:
    return _forecaster(name, size, steps=1).fit(panel(named(name)))


def _forecaster(name: str, size: Size, steps: int) -> nd.Forecaster:
    training = nd.TrainingConfig(
        max_steps=steps,
        max_epochs=None,
        batch_size=WINDOWS,
        drop_last=True,
        optimizer=nd.optimizers.Adam(lr=RATE),
        schedule=nd.schedules.Constant(),
        clip=None,
        early_stopping=None,
        threads=torch.get_num_threads(),
    )
    return nd.Forecaster(
        _architecture(name, size),
        horizon=HORIZON,
        input_size=INPUT_SIZE,
        loss=nd.losses.MAE(),
        scaler="identity",
        validation=0,
        joint=named(name).joint,
        training=training,
    )


def _architecture(name: str, size: Size) -> Architecture:
    pair = named(name)
    return Architecture.from_dict({"name": pair.ours, **pair.our_settings(size)})
