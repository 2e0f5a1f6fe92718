"""Training leaves a sign of life, and nothing about that can hurt it."""

from __future__ import annotations

import json
import os
import socket
import time
import timeit
from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import StorageWarning
from neuro_divergent.training.callbacks.heartbeat import Heartbeat
from tests.unit.training.callbacks.example import line, trainer


class Read(nd.callbacks.Callback):
    """Reads the file at each event after it was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[dict[str, Any]] = []

    def read(self, trainer: nd.Trainer) -> None:
        self.seen.append(json.loads(self.path.read_text("utf-8")))

    fit_start = step_end = validation_start = read


def test_with_interval_zero_every_step_and_phase_is_written(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat.json"
    reader = Read(path)
    began = time.time()
    trainer(Heartbeat(path, every=0, attempt=3), reader, max_steps=30, validate_every=10).fit(line(), line())
    steps = [beat["step"] for beat in reader.seen if beat["phase"] == "training"]
    assert steps == list(range(31))
    assert [beat["step"] for beat in reader.seen if beat["phase"] == "validation"] == [10, 20, 30]
    last = json.loads(path.read_text("utf-8"))
    assert began <= last.pop("time") <= time.time()
    assert last == {
        "pid": os.getpid(), "host": socket.gethostname(), "step": 30, "total_steps": 30, "phase": "finishing",
        "attempt": 3,
    }  # fmt: skip
    assert [item.name for item in tmp_path.iterdir()] == ["heartbeat.json"]


def test_between_two_times_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat.json"
    reader = Read(path)
    trainer(Heartbeat(path, every=60), reader, max_steps=20).fit(line(), line())
    assert {beat["step"] for beat in reader.seen} == {0}
    assert json.loads(path.read_text("utf-8"))["step"] == 20  # the end is always told


def test_the_heartbeat_is_written_again_after_its_interval(tmp_path: Path) -> None:
    class Wait(nd.callbacks.Callback):
        def gradients_ready(self, trainer: nd.Trainer) -> None:
            time.sleep(0.02)

    reader = Read(tmp_path / "beat")
    began = time.monotonic()
    trainer(Wait(), Heartbeat(tmp_path / "beat", every=0.05), reader, max_steps=20).fit(line())
    told = {beat["step"] for beat in reader.seen}
    assert 2 < len(told) <= (time.monotonic() - began) / 0.05 + 2


def test_a_disk_that_refuses_is_warned_about_once_and_training_goes_on(tmp_path: Path) -> None:
    class Repair(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 20:
                (tmp_path / "run").mkdir()

    path = tmp_path / "run" / "heartbeat.json"
    training = trainer(Heartbeat(path, every=0), Repair(), max_steps=30)
    with pytest.warns(StorageWarning, match=r"heartbeat\.json: cannot be written: No such file") as warned:
        training.fit(line())
    assert len(warned) == 1
    assert training.state.step == 30
    assert json.loads(path.read_text("utf-8"))["step"] == 30  # as soon as the disk is back


def test_only_one_of_several_processes_writes(tmp_path: Path) -> None:
    class Second(type(trainer().strategy)):  # type: ignore[misc]
        rank = 1

    training = trainer(Heartbeat(tmp_path / "beat", every=0))
    training.strategy = Second()
    training.fit(line(), line())
    assert not list(tmp_path.iterdir())


def test_a_step_at_which_nothing_is_due_costs_less_than_a_microsecond(tmp_path: Path) -> None:
    callback, training = Heartbeat(tmp_path / "beat"), trainer()
    callback.beat(training)
    best = min(timeit.repeat(lambda: callback.step_end(training), number=10_000, repeat=20)) / 10_000
    assert best < 1e-6


def test_training_is_the_same_with_and_without(tmp_path: Path) -> None:
    weights = []
    for callbacks in ([], [Heartbeat(tmp_path / "beat", every=0)]):
        training = trainer(*callbacks)
        training.fit(line(), line())
        weights.append(training.module.weight)
    assert weights[0].equal(weights[1])


def test_times_that_are_none_are_refused(tmp_path: Path) -> None:
    for every in (-1.0, float("nan")):
        with pytest.raises(nd.errors.ConfigError, match="0 seconds or more"):
            Heartbeat(tmp_path / "beat", every=every)


@pytest.mark.parametrize(("told", "attempt"), [("3", 3), ("", 1), ("many", 1), ("-2", 1)])
def test_the_attempt_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, told: str, attempt: int) -> None:
    monkeypatch.setenv("ND_ATTEMPT", told)
    assert Heartbeat("beat").attempt == attempt
    assert Heartbeat("beat", attempt=7).attempt == 7
