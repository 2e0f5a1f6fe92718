"""``nd train`` in several processes: killed, interrupted, resumed, and started by torchrun. Real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.status import describe_run
from tests.integration.distributed.together import ROOT, free_port

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
ND = [sys.executable, "-m", "neuro_divergent"]
STEPS = 60
SETTINGS = [
    *("--horizon", "4", "--model", "mlp", "--max-steps", str(STEPS), "--quiet", "--input-size", "12"),
    *("-s", "model.hidden_size=16", "-s", "checkpoints.every_steps=5", "-s", "checkpoints.every_epochs=none"),
    *("-s", "checkpoints.keep=100"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "series.csv"
    Synthetic(num_series=3, length=120, noise=0.3).frame().write_csv(path)
    return path


def command(table: Path, run: Path, *more: str) -> list[str]:
    return [*ND, "train", str(table), *SETTINGS, "-o", str(run), *more]


def train(table: Path, run: Path, *more: str) -> subprocess.CompletedProcess[str]:
    made = subprocess.run(
        command(table, run, *more), env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
    )
    assert made.returncode == 0, made.stderr
    return made


def weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


def forecasts(run: Path) -> list[float]:
    return pl.read_csv(run / "forecasts.csv")["forecast"].to_list()


def wait_for_step(run: Path, step: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()[1]
        if any(item.step >= step for item in describe_run(run).checkpoints if item.is_complete):
            return
        time.sleep(0.02)
    raise AssertionError(f"there is no checkpoint of step {step}")


def ranks_of(run: Path) -> dict[int, int]:
    """Return the numbers of the processes that train in a directory, by their rank."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                name, _, rank = (path / "comm").read_text().rpartition(" ")
            except OSError:
                continue
            if name == "nd rank" and is_part_of(path, run):
                found[int(rank)] = int(path.name)
    return found


def is_part_of(process: Path, run: Path) -> bool:
    """Whether a process trains in a directory: its command names that, or the command of a process that started it."""
    try:
        if str(run).encode() in (process / "cmdline").read_bytes().split(b"\0"):
            return True
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return False
    return parent != "0" and is_part_of(process.parent / parent, run)


@pytest.mark.long
def test_two_processes_write_the_run_that_one_writes(table: Path, tmp_path: Path) -> None:
    train(table, tmp_path / "one")
    train(table, tmp_path / "two", "--processes", "2")
    names = [sorted(path.name for path in (tmp_path / run).iterdir()) for run in ("one", "two")]
    assert names[0] == names[1]
    assert forecasts(tmp_path / "two") == pytest.approx(forecasts(tmp_path / "one"), rel=1e-3)
    scores = [json.loads((tmp_path / run / "scores.json").read_text()) for run in ("one", "two")]
    assert scores[1].keys() == scores[0].keys()
    assert not ranks_of(tmp_path / "two")


@pytest.mark.long
def test_torchrun_starts_the_same_training(table: Path, tmp_path: Path) -> None:
    train(table, tmp_path / "ours", "--processes", "2")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    given = command(table, tmp_path / "theirs")[3:]
    made = subprocess.run(
        [*torchrun, "--master-port", str(free_port()), "-m", "neuro_divergent", *given],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert weights(tmp_path / "theirs") == weights(tmp_path / "ours")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
@pytest.mark.long
@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_a_killed_process_ends_all_and_retries_give_the_same_weights(table: Path, tmp_path: Path, rank: int) -> None:
    run = tmp_path / "killed"
    more = ("--processes", "2", "--retries", "2", "--max-steps", "400")
    process = subprocess.Popen(command(table, run, *more), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    wait_for_step(run, 20, process)
    os.kill(ranks_of(run)[rank], signal.SIGKILL)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 0, said
    assert f"process {rank} of 2 was killed by SIGKILL" in said
    assert said.count("error:") == 1
    train(table, tmp_path / "whole", "--processes", "2", "--max-steps", "400")
    assert weights(run) == weights(tmp_path / "whole")


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_hangs_in_training_is_named_and_never_another_one(
    table: Path, tmp_path: Path, rank: int
) -> None:
    run = tmp_path / "hung"
    more = ("--processes", "2", "--stall", "10", "--retries", "4", "-s", "training.early_stopping=none")
    more = (*more, "--max-steps", "1000000", "--max-epochs", "1000000")
    process = subprocess.Popen(command(table, run, *more), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    for restart in range(3):
        wait_for_step(run, 20 * (restart + 1), process)
        before = ranks_of(run)
        time.sleep(0.1 * restart)
        os.kill(before[rank], signal.SIGSTOP)
        while set(ranks_of(run).values()) & set(before.values()) or len(ranks_of(run)) < 2:
            assert process.poll() is None
            time.sleep(0.1)
    process.terminate()
    said = process.communicate(timeout=120)[1]
    named = f"error: process {rank} of 2 hung: the others waited for it, and it was aborted."
    unknown = "error: process 0 of 2 and all others hung in the same place"  # it was stopped in an exchange
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    assert len(errors) == 3, said
    assert all(line.startswith((named, unknown)) for line in errors), said


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc")
@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_once_and_the_run_is_resumed_bit_by_bit(
    table: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    run = tmp_path / "interrupted"
    more = ("--processes", "2", "--max-steps", "400")
    process = subprocess.Popen(command(table, run, *more), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    wait_for_step(run, 20, process)
    process.send_signal(number)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == code, said
    assert said.count("and saved. Resume with: nd train") == 1
    assert not ranks_of(run)
    assert describe_run(run).state == "interrupted"
    train(table, run, "--processes", "2", "--resume", "--max-steps", "400")
    train(table, tmp_path / "whole", "--processes", "2", "--max-steps", "400")
    assert weights(run) == weights(tmp_path / "whole")


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 3])
def test_a_run_of_two_processes_is_resumed_by_another_number(table: Path, tmp_path: Path, processes: int) -> None:
    run = tmp_path / "two"
    same = ("-s", "training.precision=float64", "-s", "training.schedule=constant")  # which knows no end
    train(table, run, "--processes", "2", *same)
    train(table, run, "--processes", str(processes), "--resume", "--max-steps", str(2 * STEPS), *same)
    train(table, tmp_path / "whole", "--max-steps", str(2 * STEPS), *same)
    assert forecasts(run) == pytest.approx(forecasts(tmp_path / "whole"), rel=1e-6)


def test_a_mistake_is_said_once(table: Path, tmp_path: Path) -> None:
    given = command(table, tmp_path / "run", "--processes", "2", "--target", "nothing")
    made = subprocess.run(given, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 2
    assert made.stderr.count("error:") == 1
    assert "nothing" in made.stderr


# Ends process 1 before it has said anything, as soon as process 0 waits for it.
FAILS_ALONE = """
import os, socket, sys, time
if os.environ.get("RANK") == "1":
    while True:
        try:
            socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))).close()
            break
        except OSError:
            time.sleep(0.05)
    print("error: odd.", file=sys.stderr, flush=True)
    os._exit(4)
"""


@pytest.mark.long
def test_one_that_fails_before_they_have_met_ends_the_other_that_waits_for_it(table: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(FAILS_ALONE)
    told = {**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    given = command(table, tmp_path / "run", "--processes", "2")
    made = subprocess.run(given, env=told, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 4
    assert made.stderr == "error: process 1 of 2 failed: odd.\n"


@pytest.mark.long
def test_a_finished_run_is_left_alone_by_all_processes(table: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(table, run, "--processes", "2")
    before = weights(run)
    train(table, run, "--processes", "2", "--resume")
    assert weights(run) == before


def test_processes_of_a_launcher_start_no_others(table: Path, tmp_path: Path) -> None:
    told = {**ENVIRONMENT, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    given = command(table, tmp_path / "run", "--processes", "2")
    made = subprocess.run(given, env=told, capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 2
    assert "--processes: a launcher has started several already; leave it out." in made.stderr
