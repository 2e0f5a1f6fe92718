"""The clock ends training."""

from __future__ import annotations

import time

import pytest

import neuro_divergent as nd
from neuro_divergent.training.callbacks.limits import TimeLimit
from tests.unit.training.callbacks.example import line, trainer


class Slow(nd.callbacks.Callback):
    def step_end(self, trainer: nd.Trainer) -> None:
        time.sleep(0.02)


def test_training_ends_normally_when_time_is_up() -> None:
    training = trainer(Slow(), TimeLimit(0.2), max_steps=10_000)
    began = time.monotonic()
    history = training.fit(line(), line()).frame()
    assert time.monotonic() - began >= 0.2
    assert 1 <= training.state.step <= 10  # a step takes at least 0.02 s
    assert training.state.stop_reason == "the time limit of 0.2 s is reached"
    assert history["validation_loss"][-1] is not None


def test_training_that_is_quick_enough_is_not_stopped() -> None:
    training = trainer(TimeLimit(600))
    training.fit(line())
    assert (training.state.step, training.state.stop_reason) == (30, None)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_limits_that_make_no_sense_are_refused(seconds: float) -> None:
    with pytest.raises(nd.errors.ConfigError, match="more than 0 seconds"):
        TimeLimit(seconds)
