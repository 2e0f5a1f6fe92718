"""The clock of a process among others: its own time, without that in exchanges."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from neuro_divergent.training.process_clock import ProcessClock
from neuro_divergent.training.strategy import SingleDevice


class Watch:
    """A time that only a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


class Second(SingleDevice):
    """The second of two processes; the first one has sent what is in ``others``."""

    rank = 1
    world_size = 2
    waited = 0.0

    def __init__(self, others: list[float]) -> None:
        self.others = others
        self.gathered = 0

    def gather(self, value: Any) -> list[Any]:
        self.gathered += 1
        return [("first", "cuda:0"), value]

    def all_reduce(self, total: Any, weight: Any) -> tuple[Any, Any]:
        assert torch.equal(total[0], torch.zeros(4, dtype=torch.float64))
        return total + torch.tensor([self.others, [0.0] * 4], dtype=torch.float64), weight


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def test_own_time_is_that_of_drawing_and_stepping_without_exchanges(watch: Watch) -> None:
    strategy = Second([7.0, 0.5, 0.1, 1e9])
    clock = ProcessClock(strategy, torch.device("cpu"))

    def draw() -> Any:
        for batch in range(2):
            watch.now += 0.25  # reading the batch
            yield batch

    for _ in clock.steps(draw()):
        watch.now += 1.0  # computing
        watch.now += 3.0  # an exchange
        strategy.waited += 3.0
        clock.stepped()
        watch.now += 10.0  # a validation, which is no part of a step
    first, second = clock.share(samples_per_second=5.0)
    assert first == ("first", "cuda:0", 7.0, 0.5, 0.1, 10**9)
    assert second.busy_seconds == pytest.approx(1.25)
    assert second.waiting == pytest.approx(6.0 / 28.5)
    assert (second.samples_per_second, second.device) == (5.0, "cpu")
    assert second.memory_bytes is None or second.memory_bytes > 10**6


def test_each_row_begins_anew_and_one_without_steps_has_no_time(watch: Watch) -> None:
    strategy = Second([7.0, float("nan"), 0.1, float("nan")])
    clock = ProcessClock(strategy, torch.device("cpu"))
    for _ in clock.steps([0]):
        watch.now += 1.0
        clock.stepped()
    assert clock.share(5.0)[1].busy_seconds == pytest.approx(1.0)
    watch.now += 2.0
    first, second = clock.share(0.0)
    assert second.busy_seconds is None
    assert second.waiting == 0.0
    assert (first.busy_seconds, first.memory_bytes) == (None, None)
    assert strategy.gathered == 1  # hosts are asked for once


def test_a_step_that_fails_is_not_counted(watch: Watch) -> None:
    clock = ProcessClock(SingleDevice(), torch.device("cpu"))
    for batch in clock.steps([0, 1]):
        watch.now += 5.0 if batch == 0 else 1.0
        if batch:  # the first one was rolled back
            clock.stepped()
    assert clock.share(5.0)[0].busy_seconds == pytest.approx(1.0)
