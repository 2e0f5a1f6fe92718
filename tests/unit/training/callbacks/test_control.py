"""Wishes in a directory, and what becomes of them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.runs.events import read_events
from neuro_divergent.training.callbacks import control
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.callbacks.control import Control
from neuro_divergent.training.callbacks.events import EventLog
from tests.unit.training.callbacks.example import line, trainer


@pytest.fixture(autouse=True)
def _look_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_SECONDS_BETWEEN_LOOKS", 0.0)


class Wish(nd.callbacks.Callback):
    """Makes a file at a step, as somebody else would."""

    def __init__(self, path: Path, step: int) -> None:
        self.path, self.step = path, step

    def epoch_start(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()


def steps_saved(run: Path) -> list[int]:
    return sorted(int(path.name[5:]) for path in (run / "checkpoints").glob("step-*"))


def test_a_stop_request_file_ends_training_with_its_weights_and_a_reason(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    training = trainer(*run.callbacks(Checkpointing()), Wish(tmp_path / "control" / "stop", 8), max_steps=1000)
    history = training.fit(line(), line(20))
    assert training.state.step == 9
    assert training.state.stop_reason == "somebody asked for it"
    assert history.frame()["validation_loss"][-1] is not None  # it came to an end like any other
    assert not list((tmp_path / "control").iterdir())
    assert steps_saved(tmp_path) == [9]
    told = read_events(tmp_path, "control", "end")
    assert [(event["event"], event["step"]) for event in told] == [("control", 9), ("end", 9)]
    assert (told[0]["wish"], told[1]["reason"]) == ("stop", "somebody asked for it")


def test_a_checkpoint_request_is_written_at_once_whatever_the_settings_say(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    class SeriesLayout(nd.callbacks.Callback):
        def checkpoint_safe(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 9:
                seen.append(steps_saved(tmp_path))

    checkpoints = Checkpointing(every_epochs=None, every_seconds=3600, at_most_every=3600)
    callbacks = RunDirectory(tmp_path).callbacks(checkpoints)
    wish = Wish(tmp_path / "control" / "checkpoint", 8)
    training = trainer(*callbacks, wish, SeriesLayout())
    training.fit(line())
    assert seen == [[9]]
    assert steps_saved(tmp_path) == [9, 30]
    assert training.state.stop_reason is None
    assert [event["step"] for event in read_events(tmp_path, "checkpoint")] == [9, 30]
    assert not wish.path.exists()


def test_a_checkpoint_request_during_a_save_is_written_after_it(tmp_path: Path) -> None:
    going_on = threading.Event()
    told: list[int] = []

    def saved(step: int) -> None:
        told.append(step)
        going_on.wait(10)  # as a slow disk would

    class Ask(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            step = trainer.state.step
            if step == 10:
                checkpointer.request()
            if step == 14:
                going_on.set()
                while not checkpointer._saving.done():  # type: ignore[union-attr]
                    time.sleep(0.001)

    checkpoints = Checkpointing(
        directory=tmp_path / "checkpoints", every_epochs=None, every_steps=5, at_most_every=0.0, background=True
    )
    checkpointer = checkpoints.build(saved=saved)
    patient = checkpoints.replace(at_most_every=3600.0, every_steps=None)

    class Patience(nd.callbacks.Callback):
        def checkpoint_safe(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 5:
                checkpointer.config = patient

    trainer(checkpointer, Patience(), Ask()).fit(line())
    assert told == [5, 14, 30]


@pytest.mark.parametrize("wish", control.REQUESTS)
def test_a_request_left_from_before_is_removed_without_effect(tmp_path: Path, wish: str) -> None:
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / wish).touch()
    training = trainer(*RunDirectory(tmp_path).callbacks(Checkpointing()))
    training.fit(line())
    assert training.state.step == 30
    assert steps_saved(tmp_path)[-1:] == [30]
    assert not (tmp_path / "control" / wish).exists()
    assert not read_events(tmp_path, "control")


def test_a_directory_is_no_control_request(tmp_path: Path) -> None:
    (tmp_path / "control" / "stop").mkdir(parents=True)
    training = trainer(*RunDirectory(tmp_path).callbacks(Checkpointing()))
    training.fit(line())
    assert training.state.step == 30


def test_control_looks_for_requests_only_a_few_times_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_SECONDS_BETWEEN_LOOKS", 3600.0)
    looks: list[Path] = []
    is_file = Path.is_file

    def count(path: Path) -> bool:
        looks.extend([path] if path.parent == tmp_path / "control" else [])
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", count)
    events = EventLog(tmp_path / "events.jsonl")
    trainer(events, Control(tmp_path / "control", events=events)).fit(line())
    assert looks == [tmp_path / "control" / name for name in ("stop", "checkpoint", "stop")]
    assert list(tmp_path.iterdir()) == [tmp_path / "events.jsonl"]
