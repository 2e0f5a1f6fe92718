"""What can be told of a run from outside, whatever state its directory is in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import StorageError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.cli.runs import next_step
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.runs.status import describe_run, is_run, list_runs, patience, write_status
from tests.unit.runs.runs import make_run

CONFIG = """
[data]
path = "sales.csv"
[model]
name = "nhits"
[task]
horizon = 24
"""
FILES = ("config.toml", "status.json", "heartbeat.json", "run.json", "scores.json", "checkpoints/best.json", "lock")


def write_beat(run: Path, *, age: float = 0.0, **changes: Any) -> None:
    content = {
        "pid": os.getpid(), "host": socket.gethostname(), "time": time.time() - age, "step": 70, "total_steps": 1000,
        "phase": "training", "attempt": 2, **changes,
    }  # fmt: skip
    path = run / "heartbeat.json"
    path.write_text(json.dumps(content))
    os.utime(path, (time.time() - age, time.time() - age))


def write_checkpoint(run: Path, step: int, size: int = 1000, place: str = "checkpoints") -> Path:
    directory = run / place / f"step-{step:09d}"
    directory.mkdir(parents=True)
    (directory / "module.safetensors").write_bytes(bytes(size))
    (directory / "manifest.json").write_text("{}")
    return directory


def write_model(run: Path, age: float = 0.0) -> None:
    (run / "model").mkdir(exist_ok=True)
    path = run / "model" / "manifest.json"
    path.write_text("{}")
    os.utime(path, (time.time() - age, time.time() - age))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "sales"
    path.mkdir()
    (path / "config.toml").write_text(CONFIG)
    return path


def test_a_run_that_trains(run: Path) -> None:
    with RunLock(run / "lock"):
        write_status(run, "running", step=0, total_steps=1000)
        time.sleep(0.01)
        write_beat(run)
        found = describe_run(run)
    assert (found.name, found.state, found.step, found.total_steps) == ("sales", "running", 70, 1000)
    assert (found.model, found.data, found.horizon) == ("nhits", "sales.csv", 24)
    assert (found.phase, found.attempt) == ("training", 2)
    assert found.holder is not None
    assert found.holder.pid == os.getpid()
    assert found.quiet is not None
    assert 0 <= found.quiet < 30
    assert found.damaged == ()
    assert found.is_healthy


@pytest.mark.parametrize(
    ("phase", "age", "state"),
    [
        ("training", 250, "running"), ("training", 350, "stalled"), ("validation", 350, "stalled"),
        ("finishing", 350, "running"), ("finishing", 3500, "stalled"), ("training", -900, "running"),
    ],
)  # fmt: skip
def test_run_without_heartbeat_is_stalled(run: Path, phase: str, age: float, state: str) -> None:
    with RunLock(run / "lock"):
        write_beat(run, age=age, phase=phase)
        assert describe_run(run).state == state
        assert describe_run(run, stale=10_000).state == "running"


def test_the_clock_of_another_machine_does_not_make_a_run_stall(run: Path) -> None:
    with RunLock(run / "lock"):
        write_beat(run, age=5000)
        os.utime(run / "heartbeat.json")
        assert describe_run(run).state == "running"


def test_the_heartbeat_of_the_process_before_does_not_count(run: Path) -> None:
    with RunLock(run / "lock"):
        write_beat(run, age=5000, pid=os.getpid() + 1)
        found = describe_run(run)
        assert (found.state, found.phase) == ("running", None)
        (run / "lock").write_text(json.dumps({"pid": 1, "host": "h", "since": time.time() - 3500}))
        assert describe_run(run).state == "stalled"
        (run / "lock").write_text(json.dumps({"pid": 1, "host": "h", "since": time.time() - 350}))
        assert describe_run(run).state == "running"  # reading the data may take its time


def test_a_run_whose_process_is_gone_was_killed(run: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from neuro_divergent.core.storage.lock import RunLock\n"
        "from neuro_divergent.runs.status import write_status, describe_run\n"
        "run = Path(sys.argv[1])\n"
        "with RunLock(run / 'lock'):\n"
        "    write_status(run, 'running', total_steps=9)\n"
        "    print(describe_run(run).state, 'torch' in sys.modules, 'polars' in sys.modules, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    result = subprocess.run([sys.executable, "-c", script, str(run)], capture_output=True, text=True, check=False)
    assert result.stdout == "running False False\n"
    assert result.returncode == -9
    found = describe_run(run)
    assert (found.state, found.holder, found.quiet) == ("killed", None, None)
    assert not found.is_healthy


@pytest.mark.parametrize("state", ["interrupted", "failed", "diverged"])
def test_status_of_a_run_records_how_it_ended(run: Path, state: Any) -> None:
    write_beat(run, age=3)
    write_status(run, state, step=77, total_steps=100, message="enough\nof \x1b[31mthis")
    found = describe_run(run)
    assert (found.state, found.step, found.message) == (state, 77, "enough of ?[31mthis")
    assert not found.is_healthy


def test_an_ending_that_does_not_know_the_step_leaves_it_to_the_heartbeat(run: Path) -> None:
    write_beat(run, age=3)
    write_status(run, "failed")
    assert (describe_run(run).step, describe_run(run).total_steps) == (70, 1000)


def test_a_run_with_a_model_is_finished_unless_it_was_taken_up_again(run: Path) -> None:
    write_model(run, age=100)
    assert describe_run(run).state == "finished"  # as it was before there were statuses
    write_status(run, "finished", step=1000, total_steps=1000)
    assert describe_run(run).state == "finished"
    write_status(run, "running", step=1000, total_steps=2000)
    assert describe_run(run).state == "killed"
    write_model(run, age=-1)  # killed after the model was written
    assert describe_run(run).state == "finished"


def test_an_automatic_search_without_its_leaderboard_was_interrupted(tmp_path: Path) -> None:
    (tmp_path / "auto.json").write_text("{}")
    write_model(tmp_path)  # the best so far
    found = describe_run(tmp_path)
    assert (found.state, found.model) == ("interrupted", "auto")
    assert next_step(found) == f"nd auto resume {tmp_path}"
    (tmp_path / "leaderboard.json").write_text("{}")
    found = describe_run(tmp_path)
    assert (found.state, next_step(found)) == ("finished", f"nd predict {tmp_path}")


def test_a_finished_run_that_lost_its_model_is_damaged(run: Path) -> None:
    write_status(run, "finished")
    found = describe_run(run)
    assert (found.state, found.damaged) == ("damaged", ("model",))


def test_checkpoints_best_and_scores(run: Path) -> None:
    for step in (20, 30, 100):
        write_checkpoint(run, step, size=step)
    (run / "checkpoints" / "step-000000100" / "manifest.json").unlink()
    (run / "checkpoints" / ".step-000000200.partial-x").mkdir()
    write_checkpoint(run, 40, place="checkpoints/set-aside")
    best = {"checkpoint": "step-000000030", "step": 30, "metric": "validation_mae", "value": 1.5}
    (run / "checkpoints" / "best.json").write_text(json.dumps(best))
    rows = [{"name": "naive", "mae": 9.0}, {"name": "nhits", "mae": 1.25, "mase": None, "skill": 0.5}]
    (run / "scores.json").write_text(json.dumps({"model": "nhits", "part": "test", "scores": rows}))
    found = describe_run(run)
    assert [(item.step, item.bytes, item.is_best, item.is_complete) for item in found.checkpoints] == [
        (20, 22, False, True), (30, 32, True, True), (100, 100, False, False),
    ]  # fmt: skip
    assert [item.step for item in found.quarantined] == [40]
    assert (found.metric, found.best) == ("validation_mae", 1.5)
    assert found.score == {"part": "test", "mae": 1.25, "mase": None, "skill": 0.5}
    assert (found.state, found.step) == ("killed", 100)
    json.dumps(found.to_dict())


def test_checkpoints_at_another_place_are_found(run: Path, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 50, place="elsewhere")
    place = json.dumps(str(tmp_path / "elsewhere"))
    (run / "config.toml").write_text(f"{CONFIG}[checkpoints]\ndirectory = {place}\n")
    assert [item.step for item in describe_run(run).checkpoints] == [50]
    for address in ("s3://bucket/run", "\\u0000", "x" * 5000):
        (run / "config.toml").write_text(f'{CONFIG}[checkpoints]\ndirectory = "{address}"\n')
        assert describe_run(run).checkpoints == ()


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"state": "running"', '{"state": "lost"}', '{"state": NaN}'])
def test_a_status_that_cannot_be_read_is_damaged(run: Path, content: str) -> None:
    (run / "status.json").write_text(content)
    assert describe_run(run).state == "damaged"
    with RunLock(run / "lock"):
        assert describe_run(run).state == "running"  # the lock does not lie


# Content that is JSON or TOML, with all sorts of values where others are expected; and no content at all.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        "state", "step", "total_steps", "message", "time", "pid", "host", "phase", "attempt", "since", "checkpoint",
        "metric", "value", "model", "part", "scores", "name",
    ]
)  # fmt: skip
CONTENT = st.binary(max_size=40) | st.dictionaries(KEYS, VALUES).map(
    lambda value: json.dumps(value, ensure_ascii=True).encode()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.dictionaries(st.sampled_from(FILES), CONTENT, min_size=1), held=st.booleans())
def test_no_content_raises_an_error(run: Path, contents: dict[str, bytes], held: bool) -> None:
    (run / "checkpoints").mkdir(exist_ok=True)
    for name in FILES:
        (run / name).unlink(missing_ok=True)
    lock = RunLock(run / "lock")
    if held:
        lock.__enter__()
    for name, content in contents.items():
        (run / name).write_bytes(content)
    found = describe_run(run)
    assert (found.state in ("running", "stalled")) is held
    json.dumps(found.to_dict(), allow_nan=False)
    assert [item.state for item in list_runs(run.parent)] == [found.state]
    lock.__exit__(None, None, None)


def test_things_in_the_place_of_files_hang_nobody(run: Path) -> None:
    for name in FILES[1:]:
        path = run / name
        path.parent.mkdir(exist_ok=True)
        path.mkdir() if name == "run.json" else os.mkfifo(path)
    (run / "config.toml").unlink()
    (run / "config.toml").symlink_to("/dev/zero")
    found = describe_run(run)
    assert found.state == "damaged"
    assert {"config.toml", "status.json", "heartbeat.json", "scores.json"} <= set(found.damaged)


def test_a_huge_file_is_not_read(run: Path) -> None:
    with (run / "status.json").open("wb") as file:
        file.truncate(10**12)
    assert describe_run(run).damaged == ("status.json",)


def test_runs_are_listed_newest_first_and_nothing_else_is(tmp_path: Path) -> None:
    for number, name in enumerate(("c", "a", "b")):
        path = tmp_path / name
        path.mkdir()
        write_status(path, "failed")
        status = json.loads((path / "status.json").read_text())
        (path / "status.json").write_text(json.dumps({**status, "time": time.time() + number}))
    (tmp_path / "notes").mkdir()
    (tmp_path / ".hidden").mkdir()
    write_status(tmp_path / ".hidden", "failed")
    (tmp_path / "file").write_text("")
    assert [run.name for run in list_runs(tmp_path)] == ["b", "a", "c"]
    assert list_runs(tmp_path / "nowhere") == []
    assert not is_run(tmp_path / "notes")


def test_a_thousand_runs_are_listed_in_a_moment(tmp_path: Path) -> None:
    for number in range(1000):
        path = tmp_path / f"run-{number}"
        write_checkpoint(path, 100)
        (path / "config.toml").write_text(CONFIG)
        write_beat(path)
        write_model(path)
    began = time.process_time()
    assert len(list_runs(tmp_path)) == 1000
    assert time.process_time() - began < 2


def test_patience_is_longer_in_phases_without_heartbeat() -> None:
    assert [patience(30, phase) for phase in (None, "training", "validation", "saving", "finishing")] == [
        300, 30, 30, 30, 300,
    ]  # fmt: skip


def test_a_status_that_cannot_be_written_is_an_error_of_storage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_status(tmp_path / "file", "running")


def test_directory_of_a_run_may_be_given_as_text(tmp_path: Path) -> None:
    place = make_run(tmp_path / "sales", steps=3)
    assert describe_run(str(place)) == describe_run(place)
    assert [run.name for run in list_runs(str(tmp_path))] == ["sales"]
    assert len(read_events(str(place), "row")) == 3
    assert read_history(str(place)).equals(read_history(place))
    assert read_history(place).height == 3
