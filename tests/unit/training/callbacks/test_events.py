"""The lines of a training, and the history that is read from them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.core.errors import DivergenceWarning, StorageWarning
from neuro_divergent.runs.events import EventFile, read_events
from neuro_divergent.runs.history_reader import RowTable, read_history
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.callbacks.events import EventLog
from neuro_divergent.training.callbacks.layers import LayerMonitor
from tests.unit.training.callbacks.example import line, network, trainer


class Act(nd.callbacks.Callback):
    """Does something at a step."""

    def __init__(self, step: int, action: Any) -> None:
        self.step, self.action = step, action

    def checkpoint_safe(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step:
            self.action(trainer)


def fail(_: nd.Trainer) -> None:
    raise RuntimeError("broken")


def log(run: Path) -> EventLog:
    return EventLog(run / "events.jsonl", history=run / "history.parquet")


def from_events(run: Path) -> pl.DataFrame:
    """Read the history from the lines alone."""
    content = (run / "events.jsonl").read_bytes()
    table = RowTable()
    table.add(content[: content.rfind(b"\n") + 1])
    return table.frame


def as_documented(run: Path) -> list[dict[str, Any]]:
    """Read the rows with the code that the documentation gives to those who do without this package."""
    page = (Path(__file__).parents[4] / "docs" / "guides" / "runs.md").read_text("utf-8")
    code = next(block for block in page.split("```python\n") if "rows = []" in block).split("```")[0]
    scope: dict[str, Any] = {}
    exec(code.replace('"runs/first/events.jsonl"', repr(str(run / "events.jsonl"))), scope)
    return scope["rows"]  # type: ignore[no-any-return]


def require_equal(run: Path, training: nd.Trainer) -> None:
    expected = training.history.frame()
    assert expected.height
    assert_frame_equal(from_events(run), expected, check_exact=True)
    assert_frame_equal(read_history(run), expected, check_exact=True)


def test_lines_tell_what_happened(tmp_path: Path) -> None:
    training = trainer(log(tmp_path), log_every=7, validate_every=15, metrics=["mae"], early_stopping=None)
    before = time.time()
    training.fit(line(), line(20))
    lines = [json.loads(text) for text in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(event["event"], event["step"]) for event in lines] == [
        ("start", 0), ("columns", 7), ("row", 7), ("row", 14), ("columns", 15), ("row", 15), ("row", 21), ("row", 28),
        ("row", 30), ("end", 30),
    ]  # fmt: skip
    assert {"validation_mae"} <= set(lines[4]["names"]) - set(lines[1]["names"])
    assert all(before - 0.001 <= event["time"] <= time.time() for event in lines)
    first, last = lines[0], lines[-1]
    assert (first["total_steps"], first["steps_per_epoch"], first["parameters"]) == (30, 4, 4)
    assert (first["pid"], first["device"], first["threads"], first["last_row"]) == (os.getpid(), "cpu", 1, None)
    assert last["reason"] == "all steps are done"
    assert read_events(tmp_path, "start", "end") == [first, last]
    assert "validation_mae" in from_events(tmp_path).columns
    require_equal(tmp_path, training)


def test_a_reason_to_stop_and_an_error_are_told(tmp_path: Path) -> None:
    trainer(log(tmp_path), Act(12, lambda training: training.stop("enough"))).fit(line())
    assert read_events(tmp_path)[-1]["reason"] == "enough"
    other = tmp_path / "other"
    other.mkdir()
    training = trainer(log(other), Act(12, fail))
    with pytest.raises(RuntimeError):
        training.fit(line())
    last = read_events(other)[-1]
    assert (last["event"], last["step"], last["error"], last["message"]) == ("failed", 12, "RuntimeError", "broken")
    require_equal(other, training)


def resumed(run: Path, state: Path, **changes: Any) -> nd.Trainer:
    training = trainer(log(run), Checkpointing(directory=state, every_epochs=None).build(), **changes)
    training.fit(line(), line(20), resume=state, allow_changes=True)
    return training


def test_rows_after_the_step_of_a_resumed_training_are_void(tmp_path: Path) -> None:
    settings = {"max_steps": 60, "log_every": 4, "validate_every": 10, "early_stopping": None}
    state = tmp_path / "checkpoints"
    first = trainer(
        log(tmp_path),
        Checkpointing(directory=state, every_epochs=None, every_steps=25).build(),
        Act(38, fail),
        **settings,
    )
    with pytest.raises(RuntimeError):
        first.fit(line(), line(20))
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b'{"event":"row","time":1.0,"step":40,"epo')  # as a kill leaves it
    assert from_events(tmp_path)["step"].max() == 36
    training = resumed(tmp_path, state, **settings)
    assert [event["step"] for event in read_events(tmp_path, "start")] == [0, 25]
    assert [row["step"] for row in read_events(tmp_path, "row")].count(28) == 2
    assert '"step":40,"epo\n{"event":"start"' in (tmp_path / "events.jsonl").read_text()
    require_equal(tmp_path, training)
    assert [row["step"] for row in as_documented(tmp_path)] == training.history.frame()["step"].to_list()
    assert [row["seconds"] for row in as_documented(tmp_path)] == training.history.frame()["seconds"].to_list()


@pytest.mark.parametrize("steps", [30, 33, 35])
def test_a_longer_training_writes_the_row_of_its_old_end_again_or_not_at_all(tmp_path: Path, steps: int) -> None:
    settings = {"log_every": 10, "validate_every": 15, "early_stopping": None}
    state = tmp_path / "checkpoints"
    first = trainer(log(tmp_path), Checkpointing(directory=state).build(), max_steps=steps, **settings)
    first.fit(line(), line(20))
    assert from_events(tmp_path)["step"][-1] == steps
    require_equal(tmp_path, resumed(tmp_path, state, max_steps=50, **settings))


def test_rows_on_a_way_that_training_went_back_on_are_void(tmp_path: Path) -> None:
    class Spoil(nd.callbacks.Callback):
        """Loses the numbers, twice."""

        left = 2

        def gradients_ready(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 27 and self.left:
                self.left -= 1
                trainer.module.weight.grad.fill_(float("nan"))  # type: ignore[union-attr, operator]

    settings = {"log_every": 3, "validate_every": 10, "early_stopping": None, "max_steps": 40}
    events = log(tmp_path)
    training = trainer(
        LayerMonitor(events, fraction=1),
        events,
        Spoil(),
        divergence=nd.training.Divergence(policy="rollback"),
        **settings,
    )
    with pytest.warns(DivergenceWarning):
        training.fit(line(), line(20))
    back = read_events(tmp_path, "rolled_back")
    assert [(event["step"], event["last_row"]) for event in back] == [(20, 20), (20, 20)]
    assert (tmp_path / "events.jsonl").read_text().count('"event":"row"') > training.history.frame().height
    require_equal(tmp_path, training)


SCRIPT = """
import os, signal, sys, time
from pathlib import Path
import torch
import neuro_divergent as nd
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.runs.events import read_events
from tests.unit.training.callbacks.example import line, trainer

class Die(nd.callbacks.Callback):
    def logged(self, trainer):
        if trainer.state.step == 36:
            while not read_events(run.path, "checkpoint"):  # a thread is still writing the first
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)

run = RunDirectory(Path(sys.argv[1]))
checkpoints = nd.callbacks.Checkpointing(every_epochs=None, every_steps=8, background=True)
callbacks = [*run.callbacks(checkpoints), Die()]
trainer(*callbacks, max_steps=60, log_every=3, validate_every=10, early_stopping=None).fit(line(), line(20))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills as POSIX systems do")
def test_after_a_kill_and_a_resume_the_lines_tell_what_the_trainer_remembers(tmp_path: Path) -> None:
    from neuro_divergent.runs.directory import RunDirectory

    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], cwd=Path.cwd(), check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "history.parquet").exists()
    assert from_events(tmp_path)["step"].max() == 36
    told = [event["step"] for event in read_events(tmp_path, "checkpoint")]
    assert told[0] == 8
    assert told == sorted(set(told))  # one that falls due while another is written comes after it
    assert told[-1] <= 36
    run = RunDirectory(tmp_path)
    checkpoints = Checkpointing(every_epochs=None, every_steps=8, background=True)
    settings = {"max_steps": 60, "log_every": 3, "validate_every": 10, "early_stopping": None}
    training = trainer(*run.callbacks(checkpoints), **settings)
    training.fit(line(), line(20), resume=tmp_path / "checkpoints")
    assert read_events(tmp_path, "start")[1]["step"] >= told[-1]  # the last may be complete and not told of
    require_equal(tmp_path, training)
    untouched = trainer(**settings)
    untouched.fit(line(), line(20))
    for name, tensor in untouched.module.state_dict().items():
        assert torch.equal(tensor, training.module.state_dict()[name])


def test_background_checkpoints_are_logged_when_they_are_complete(tmp_path: Path) -> None:
    events = log(tmp_path)
    told: list[tuple[int, bool]] = []

    def saved(step: int) -> None:
        told.append((step, (tmp_path / f"checkpoints/step-{step:09d}/manifest.json").is_file()))
        events.checkpointed(step)

    checkpoints = Checkpointing(directory=tmp_path / "checkpoints", every_steps=10, background=True)
    training = trainer(events, checkpoints.build(saved=saved))
    training.fit(line())
    assert told[-1] == (30, True)
    assert all(complete for _, complete in told)
    assert [event["step"] for event in read_events(tmp_path, "checkpoint")] == [step for step, _ in told]
    require_equal(tmp_path, training)


def test_a_place_that_cannot_be_written_is_warned_of_once(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").mkdir()
    training = trainer(EventLog(tmp_path / "events.jsonl", history=tmp_path / "history.parquet"))
    with pytest.warns(StorageWarning, match="Is a directory; training goes on without it") as found:
        training.fit(line())
    assert len(found) == 1
    assert training.state.step == 30


def test_a_history_that_cannot_be_written_is_warned_of_once(tmp_path: Path) -> None:
    (tmp_path / "history.parquet").mkdir()
    training = trainer(log(tmp_path))
    with pytest.warns(StorageWarning, match=r"history\.parquet") as found:
        training.fit(line())
    assert len(found) == 1
    assert_frame_equal(read_history(tmp_path), training.history.frame(), check_exact=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_warned_of_once_and_training_goes_on() -> None:
    training = trainer(EventLog("/dev/full"))
    with pytest.warns(StorageWarning, match="No space left") as found:
        training.fit(line())
    assert len(found) == 1
    assert training.state.step == 30


@pytest.mark.skipif(sys.platform == "win32", reason="limits a file as POSIX systems do")
def test_a_line_of_which_the_disk_took_only_a_part_spoils_no_other(tmp_path: Path) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    events = EventLog(tmp_path / "events.jsonl")
    events._open()
    events.write("one")
    size = (tmp_path / "events.jsonl").stat().st_size
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            events.write("two")
            events.write("three")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    events.write("four")
    events._close()
    assert [item.category for item in found] == [StorageWarning]
    assert [event["event"] for event in read_events(tmp_path)] == ["one", "four"]


def test_what_is_not_finite_is_null_and_half_a_character_is_a_question_mark(tmp_path: Path) -> None:
    events = EventLog(tmp_path / "events.jsonl")
    events._open()
    events.write("row", train_loss=float("nan"), many=[1.0, float("inf")], text="a\udcffb \u2028 \n <é>")
    events._close()
    found = read_events(tmp_path, "row")[0]
    assert (found["train_loss"], found["many"], found["text"]) == (None, [1.0, None], "a?b \u2028 \n <é>")


def test_a_run_directory_changes_no_weight(tmp_path: Path) -> None:
    from neuro_divergent.runs.directory import RunDirectory

    settings = {"log_every": 1, "validate_every": 5, "optimizer": nd.optimizers.SGD(lr=0.01, momentum=0.9)}
    plain = trainer(**settings)
    plain.fit(line(), line(20))
    watched = trainer(*RunDirectory(tmp_path).callbacks(Checkpointing(every_steps=4)), **settings)
    watched.fit(line(), line(20))
    assert 1 <= len(read_events(tmp_path, "layers")) <= 30
    for name, tensor in plain.module.state_dict().items():
        assert torch.equal(tensor, watched.module.state_dict()[name])
    same = plain.history.frame().drop("seconds", "samples_per_second", "waiting_share")
    assert_frame_equal(
        watched.history.frame().drop("seconds", "samples_per_second", "waiting_share"), same, check_exact=True
    )


def test_a_file_can_be_followed_while_it_grows(tmp_path: Path) -> None:
    following, seen = EventFile(tmp_path / "events.jsonl"), []

    class Follow(nd.callbacks.Callback):
        def logged(self, trainer: nd.Trainer) -> None:
            seen.append([event["step"] for event in following.read()])

    trainer(log(tmp_path), Follow()).fit(line())
    assert seen == [[0, 10, 10], [20], [30]]
    assert [event["event"] for event in following.read()] == ["end"]
    assert following.read() == []


def test_a_process_that_only_helps_writes_nothing(tmp_path: Path) -> None:
    from neuro_divergent.training.strategy import SingleDevice

    class Helper(SingleDevice):
        rank = 1

    events = log(tmp_path)
    config = nd.TrainingConfig(max_steps=10, threads=1)
    with warnings.catch_warnings():
        nd.Trainer(
            network(), nd.losses.MSE(), config, callbacks=[LayerMonitor(events, fraction=1), events], strategy=Helper()
        ).fit(line())
    assert not list(tmp_path.iterdir())
