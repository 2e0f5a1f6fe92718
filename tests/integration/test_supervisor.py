"""Training that is started again when it crashes or hangs: real processes, really killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import neuro_divergent
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.interfaces.cli import supervisor
from neuro_divergent.runs.status import describe_run

ENVIRONMENT = {
    **os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(neuro_divergent.__path__[0]).parent),
}  # fmt: skip
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")

SUPERVISOR = """
import sys
from pathlib import Path
from neuro_divergent.interfaces.cli import supervisor
child, run, retries, stall, *arguments = sys.argv[1:]
supervisor._SECONDS_TO_DIE = 1.0
code = supervisor.supervise(
    arguments, run=Path(run), retries=int(retries), stall=float(stall) or None, command=(sys.executable, child)
)
assert "torch" not in sys.modules and "polars" not in sys.modules
sys.exit(code)
"""

# Stands in for 'nd train': takes steps, writes heartbeats and checkpoints, and does what the test asks for.
CHILD = """
import json, os, signal, sys, time
from pathlib import Path
from neuro_divergent.interfaces.cli.supervised import attend
attend()
run = Path(sys.argv[sys.argv.index("--output") + 1])
assert sys.argv[-1] == "--resume"
way = sys.argv[1]
attempt = int(os.environ["ND_ATTEMPT"])
run.mkdir(exist_ok=True)
(run / "log").open("a").write(f"{attempt} {os.getpid()}\\n")

def beat(step, phase="training"):
    (run / ".beat").write_text(json.dumps({"pid": os.getpid(), "time": time.time(), "step": step, "phase": phase}))
    (run / ".beat").replace(run / "heartbeat.json")

def checkpoint(step):
    (run / "checkpoints" / f"step-{step:09d}").mkdir(parents=True, exist_ok=True)
    (run / "checkpoints" / f"step-{step:09d}" / "manifest.json").touch()

def leave(number, frame):
    (run / "heard").open("a").write(signal.Signals(number).name + "\\n")
    sys.exit(0 if number == signal.SIGUSR1 else 128 + number)

def hang_in_here():
    (run / "hangs").touch()
    while True:
        time.sleep(60)

if way == "early":
    os.kill(os.getpid(), signal.SIGKILL)
if way == "twice":
    beat(attempt * 100)
    checkpoint(attempt * 100)
    if attempt < 3:
        os.kill(os.getpid(), signal.SIGKILL)
if way == "always":
    beat(7)
    sys.exit(1)
if way == "code":
    sys.exit(int(sys.argv[2]))
if way == "hang" and attempt == 1:
    beat(5)
    hang_in_here()
if way == "deaf":
    signal.signal(signal.SIGABRT, signal.SIG_IGN)
    beat(5)
    hang_in_here()
if way == "slow":
    time.sleep(2.5)
    beat(5)
    for step in range(8):
        time.sleep(0.3)
        beat(step)
    beat(8, "finishing")
    time.sleep(2.5)
if way == "wait":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, leave)
    beat(1)
    (run / "ready").touch()
    while True:
        time.sleep(0.05)
        (run / "alive").touch()
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "child.py").write_text(CHILD)
    yield tmp_path
    left = [pid for pid in children(tmp_path) if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "a child outlived its test"


def start(place: Path, way: str, *more: str, retries: int = 0, stall: float = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, "child.py", "run", str(retries), str(stall), way, *more],
        cwd=place,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def supervise(place: Path, way: str, *more: str, retries: int = 0, stall: float = 0) -> tuple[int, str]:
    process = start(place, way, *more, retries=retries, stall=stall)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def children(place: Path) -> list[int]:
    log = place / "run" / "log"
    return [int(line.split()[1]) for line in log.read_text().splitlines()] if log.exists() else []


def is_alive(pid: int) -> bool:
    try:
        return state_of(pid) != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def state_of(pid: int) -> str:
    return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]


def test_a_child_that_is_killed_twice_finishes_at_the_third_attempt(place: Path) -> None:
    code, errors = supervise(place, "twice", retries=3)
    assert code == 0
    assert errors.splitlines() == [
        "attempt 1 of 4 ended: killed by SIGKILL at step 100; restarting from the checkpoint of step 100",
        "attempt 2 of 4 ended: killed by SIGKILL at step 200; restarting from the checkpoint of step 200",
    ]
    assert len(children(place)) == 3


def test_a_child_that_fails_each_time_is_given_up_with_its_code(place: Path) -> None:
    code, errors = supervise(place, "always", retries=1)
    assert code == 1
    assert errors.splitlines() == [
        "attempt 1 of 2 ended: exit code 1 at step 7; restarting from the start in 1 s",
        "attempt 2 of 2 ended: exit code 1 at step 7, as before, with no checkpoint in between; it will probably do so "
        "again; giving up",
    ]


def test_a_heartbeat_of_an_earlier_run_is_not_taken_for_its_own(place: Path) -> None:
    (place / "run").mkdir()
    (place / "run" / "heartbeat.json").write_text(json.dumps({"step": 900, "phase": "training"}))
    assert supervise(place, "early") == (
        137, "attempt 1 of 1 ended: killed by SIGKILL before its first step; giving up\n",
    )  # fmt: skip


@pytest.mark.parametrize("code", [0, 2, 3, 5, 130, 143])
def test_codes_that_mean_what_they_say_are_final(place: Path, code: int) -> None:
    assert supervise(place, "code", str(code), retries=3) == (code, "")
    assert len(children(place)) == 1


def test_a_child_that_stops_beating_is_aborted_with_its_stack_shown(place: Path) -> None:
    code, errors = supervise(place, "hang", retries=1, stall=1)
    assert code == 0
    assert "Fatal Python error: Aborted" in errors
    assert "in hang_in_here" in errors
    assert "attempt 1 of 2 ended: no heartbeat for 1 s, aborted at step 5; restarting from the start in 1 s" in errors
    assert len(children(place)) == 2


def test_a_child_that_does_not_even_abort_is_killed(place: Path) -> None:
    code, errors = supervise(place, "deaf", stall=0.4)
    assert code == 137
    assert "no heartbeat for 0.4 s, aborted at step 5; giving up" in errors


def test_nothing_is_aborted_before_the_first_beat_and_after_the_last(place: Path) -> None:
    assert supervise(place, "slow", stall=2) == (0, "")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGUSR1", 0)])
def test_signals_reach_the_child_once_and_end_the_whole(place: Path, name: str, code: int) -> None:
    process = start(place, "wait", retries=3)
    wait_for((place / "run" / "ready").exists)
    process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (code, "")
    assert (place / "run" / "heard").read_text() == f"{name}\n"
    assert len(children(place)) == 1


def test_a_signal_to_the_whole_group_reaches_the_child_once(place: Path) -> None:
    command = [sys.executable, "-c", SUPERVISOR, "child.py", "run", "0", "0", "wait"]
    process = subprocess.Popen(command, cwd=place, env=ENVIRONMENT, process_group=0)
    wait_for((place / "run" / "ready").exists)
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does
    assert process.wait(timeout=120) == 130
    assert (place / "run" / "heard").read_text() == "SIGINT\n"


def test_a_signal_between_two_attempts_ends_it(place: Path) -> None:
    process = start(place, "always", retries=9)
    assert process.stderr is not None
    for _ in range(2):
        process.stderr.readline()
    process.send_signal(signal.SIGTERM)  # in the second pause, which lasts two seconds
    process.communicate(timeout=120)
    assert process.returncode == 143
    assert len(children(place)) == 2


def test_a_crash_after_a_request_to_end_is_not_retried(place: Path) -> None:
    process = start(place, "wait", retries=3)
    wait_for((place / "run" / "ready").exists)
    child = children(place)[0]
    os.kill(child, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.0)  # for the supervisor to hear it
    os.kill(child, signal.SIGKILL)
    process.communicate(timeout=120)
    assert process.returncode == 143
    assert len(children(place)) == 1


def test_the_child_ends_by_itself_when_its_supervisor_is_killed(place: Path) -> None:
    process = start(place, "wait", retries=3)
    wait_for((place / "run" / "ready").exists)
    process.kill()
    process.communicate()
    wait_for(lambda: not is_alive(children(place)[0]))
    assert (place / "run" / "heard").read_text() == "SIGTERM\n"  # so that it can save


def test_both_pause_and_go_on_together(place: Path) -> None:
    process = start(place, "wait")
    wait_for((place / "run" / "alive").exists)
    child = children(place)[0]
    process.send_signal(signal.SIGTSTP)  # what Ctrl-Z does
    wait_for(lambda: state_of(process.pid) == state_of(child) == "T")
    (place / "run" / "alive").unlink()
    process.send_signal(signal.SIGCONT)
    wait_for((place / "run" / "alive").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 143


def test_waiting_takes_no_time_of_the_processor(place: Path) -> None:
    process = start(place, "wait", stall=1000)
    wait_for((place / "run" / "ready").exists)

    def used() -> int:
        fields = (Path("/proc") / str(process.pid) / "stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = used()
    time.sleep(1.5)
    assert used() - before <= 1  # hundredths of a second
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)


@pytest.mark.parametrize("stall", [0.0, -1.0, float("nan")])
def test_a_time_to_wait_that_is_none_is_refused(tmp_path: Path, stall: float) -> None:
    with pytest.raises(InputError, match="is not a number of seconds"):
        supervisor.supervise([], run=tmp_path, retries=0, stall=stall)


def test_no_zombie_is_left(place: Path) -> None:
    process = start(place, "always", retries=9)
    assert process.stderr is not None
    process.stderr.readline()
    assert not (Path("/proc") / str(children(place)[0])).exists()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)


@pytest.mark.soak
def test_a_real_training_that_is_killed_twice_gives_the_model_of_one_that_was_not(tmp_path: Path) -> None:
    Synthetic(num_series=3, length=120).frame().write_csv(tmp_path / "sales.csv")
    settings = [
        "--horizon", "7", "--model", "nlinear", "--threads", "1", "--max-steps", "1000", "--quiet", "--set",
        "training.early_stopping=none", "--set", "checkpoints.every_steps=50", "--set", "checkpoints.at_most_every=0",
    ]  # fmt: skip
    command = [sys.executable, "-m", "neuro_divergent.interfaces.cli.main", "train", "sales.csv", *settings]
    run = tmp_path / "killed"
    process = subprocess.Popen(
        [*command, "--output", "killed", "--retries", "2", "--stall", "60"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    )
    killed: list[int] = []

    def kill() -> bool:
        found = describe_run(run)
        who, steps = found.holder, [item.step for item in found.checkpoints]
        if who is None or who.pid is None or who.pid in killed or max(steps, default=0) < 100 * (len(killed) + 1):
            return False
        killed.append(who.pid)
        os.kill(who.pid, signal.SIGKILL)
        return True

    for _ in range(2):
        wait_for(kill, seconds=60)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    lines = [line for line in errors.splitlines() if line.startswith("attempt")]
    assert len(lines) == 2
    assert all("killed by SIGKILL" in line and "restarting from the checkpoint of step" in line for line in lines)
    assert (describe_run(run).state, describe_run(run).attempt) == ("finished", 3)
    assert not any(is_alive(pid) for pid in killed)

    subprocess.run([*command, "--output", "whole"], cwd=tmp_path, env=ENVIRONMENT, check=True, timeout=120)
    models = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("killed", "whole")]
    assert models[0] == models[1]
