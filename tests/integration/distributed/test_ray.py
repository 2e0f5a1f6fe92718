"""Trainings, searches and cross-validation on a Ray cluster of two nodes. Real processes and a real Ray."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.status import describe_run
from neuro_divergent.search.study import Study
from tests.integration.distributed.test_training_command import ranks_of, weights
from tests.integration.distributed.together import ROOT

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc"),
]

MARK = "TEST_OF_RAY"
TIMEOUT = 900  # where other work keeps the machine busy
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    "OMP_NUM_THREADS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # by which Ray listens on the loopback interface alone
    "RAY_AUTH_MODE": "disabled",
    "RAY_worker_niceness": "0",  # or else workers get nothing of a busy machine
}
ND = [sys.executable, "-m", "neuro_divergent"]
SETTINGS = [
    *("--horizon", "4", "--model", "mlp", "--quiet", "--input-size", "12", "--no-refit", "--max-steps", "60"),
    *("-s", "model.hidden_size=16", "-s", "checkpoints.every_steps=5", "-s", "checkpoints.every_epochs=none"),
    *("-s", "checkpoints.keep=1000"),
]


@pytest.fixture(scope="module")
def ray_environment() -> Iterator[dict[str, str]]:
    """Variables for programs that use Ray, which keeps its files in a directory of its own; socket paths are short."""
    with tempfile.TemporaryDirectory(prefix="nd-ray-", ignore_cleanup_errors=True) as place:
        yield {**ENVIRONMENT, "RAY_TMPDIR": place}


@pytest.fixture(scope="module")
def address(ray_environment: dict[str, str]) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.integration.distributed.ray_nodes"]
    cluster = subprocess.Popen(
        command,
        env=ray_environment,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert cluster.stdout is not None
    try:
        yield next(line.split()[1] for line in cluster.stdout if line.startswith("address "))
    finally:
        cluster.communicate(timeout=TIMEOUT)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ray")
    Synthetic(num_series=3, length=120, noise=0.3).frame().write_csv(path / "series.csv")
    return path


@pytest.fixture(scope="module")
def uninterrupted(place: Path) -> bytes:
    """Weights of two processes of this machine that were never interrupted."""
    command = [*ND, "train", "series.csv", *SETTINGS, "-o", "whole", "--processes", "2"]
    subprocess.run(command, env=ENVIRONMENT, cwd=place, timeout=TIMEOUT, check=True)
    return weights(place / "whole")


def start(place: Path, environment: dict[str, str], run: str, *more: str) -> subprocess.Popen[str]:
    """Begin a training with relative paths, as a user types them."""
    # The name of the run directory is found on the command line of the processes, and must be unique to it.
    command = [*ND, "train", "series.csv", *SETTINGS, "-o", str(place / run), "--processes", "2", *more]
    return subprocess.Popen(command, env=environment, cwd=place, stderr=subprocess.PIPE, text=True)


def wait_for_step(run: Path, step: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + TIMEOUT
    while not any(item.step >= step for item in describe_run(run).checkpoints if item.is_complete):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until, f"there is no checkpoint of step {step}"
        time.sleep(0.02)


def variable(process: int, name: str) -> str:
    told = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return next(item.decode().partition("=")[2] for item in told if item.startswith(f"{name}=".encode()))


def parent(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))


def having(name: str, value: str) -> dict[int, str]:
    """Return the command lines of all processes with a variable, by their number."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                if f"{name}={value}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


@pytest.mark.parametrize("victim", ["process", "worker"])
def test_training_on_two_nodes_goes_on_after_a_kill_and_gives_the_weights_of_processes_without_ray(
    place: Path, ray_environment: dict[str, str], address: str, uninterrupted: bytes, victim: str
) -> None:
    run = f"killed-{victim}"
    process = start(place, ray_environment, run, "--ray", address, "--retries", "2")
    wait_for_step(place / run, 10, process)
    ranks = ranks_of(place / run)
    assert len({variable(number, "RAY_RAYLET_PID") for number in ranks.values()}) == 2  # one on each node
    assert {variable(number, "LOCAL_WORLD_SIZE") for number in ranks.values()} == {"1"}
    os.kill(ranks[1] if victim == "process" else parent(ranks[1]), signal.SIGKILL)
    said = process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 0, said
    reason = "was killed by SIGKILL" if victim == "process" else "failed: its Ray worker is gone"
    assert f"error: process 1 of 2 (on 127.0.0.1) {reason}" in said
    assert said.count("error:") == 1
    assert "Traceback" not in said
    assert weights(place / run) == uninterrupted
    assert not ranks_of(place / run)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
def test_training_on_a_ray_of_its_own_is_saved_once_by_a_signal_and_nothing_stays_running(
    place: Path, ray_environment: dict[str, str], uninterrupted: bytes, number: signal.Signals
) -> None:
    mark = str(time.time_ns())
    environment = {**ray_environment, MARK: mark}
    name = number.name
    process = start(place, environment, name, "--ray", "local")
    wait_for_step(place / name, 10, process)
    process.send_signal(number)
    said = process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 128 + number, said
    assert said.count("and saved. Resume with: nd train") == 1
    assert describe_run(place / name).state == "interrupted"
    until = time.monotonic() + 60
    while having(MARK, mark) and time.monotonic() < until:
        time.sleep(0.2)
    assert having(MARK, mark) == {}
    command = [*ND, "train", str(place / name), "--resume", "--quiet", "--processes", "2"]
    subprocess.run(command, env=ENVIRONMENT, cwd=place, timeout=TIMEOUT, check=True)
    assert weights(place / name) == uninterrupted


def test_mistake_that_every_process_finds_is_said_once(
    place: Path, ray_environment: dict[str, str], address: str
) -> None:
    process = start(place, ray_environment, "mistake", "--ray", address, "--target", "nothing", "--retries", "2")
    said = process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 2
    assert said.count("error:") == 1
    assert "nothing" in said


def test_search_with_workers_as_ray_tasks_runs_as_many_trials_as_asked(
    place: Path, ray_environment: dict[str, str], address: str
) -> None:
    command = [
        *(*ND, "search", "series.csv", "--horizon", "4", "--model", "nlinear", "--max-steps", "10", "--json"),
        *("--trials", "5", "--method", "random", "-o", "study", "--jobs", "2", "--ray", address),
    ]
    made = subprocess.run(
        command, env=ray_environment, cwd=place, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert made.returncode == 0, made.stderr
    study = Study.load(place / "study")
    assert [trial.number for trial in study.trials] == [0, 1, 2, 3, 4]
    assert {trial.state for trial in study.trials} <= {"complete", "pruned"}
    assert len(json.loads(made.stdout)["trials"]) == 5


def test_search_worker_on_ray_that_is_killed_is_replaced_and_its_trial_runs_again(
    place: Path, ray_environment: dict[str, str], address: str
) -> None:
    command = [
        *(*ND, "search", "series.csv", "--horizon", "4", "--model", "nlinear", "--max-steps", "2000", "--json"),
        *("--trials", "4", "--method", "random", "-o", "killed", "--jobs", "2", "--ray", address, "--no-vectorize"),
    ]
    process = subprocess.Popen(
        command, env=ray_environment, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + TIMEOUT
    while len(list((place / "killed" / "trials").glob("*"))) < 2 or not search_workers():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.1)
    os.kill(search_workers()[0], signal.SIGKILL)
    said = process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 0, said
    trials = Study.load(place / "killed").trials
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert {trial.state for trial in trials} <= {"complete", "pruned"}
    assert max(trial.attempts for trial in trials) == 2


def search_workers() -> list[int]:
    """Return the processes of Ray that run tasks of ours."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                if (path / "cmdline").read_bytes().startswith(b"ray::neuro-divergent"):
                    found.append(int(path.name))
            except OSError:
                continue
    return found


def test_folds_as_ray_tasks_equal_those_of_one_process(ray_environment: dict[str, str], address: str) -> None:
    script = "import json, sys, tests.integration.distributed.ray_folds as it; print(json.dumps(it.main(sys.argv[1])))"
    command = [sys.executable, "-c", script, address]
    made = subprocess.run(
        command, env=ray_environment, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert made.returncode == 0, made.stderr
    found: dict[str, Any] = json.loads(made.stdout)
    assert found["same"]
    assert found["rows"] == 3 * 3 * 5
    assert found["seen"] == [[1, 3], [2, 3], [3, 3]]
    assert ": no test part has room for a window of 500 history + 5 horizon rows" in found["failed"]
    assert re.fullmatch(r"killedforecaster, fold [123]: task [012]: its Ray worker died: .*", found["died"])


@pytest.mark.soak
def test_workers_of_ray_train_share_batches_and_go_on_after_a_kill(
    place: Path, ray_environment: dict[str, str], address: str
) -> None:
    run = place / "train"
    command = [sys.executable, "-m", "tests.integration.distributed.ray_training", address, str(place / "series.csv")]
    patient = {**ray_environment, "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "600", "RAY_TRAIN_V2_ENABLED": "1"}
    process = subprocess.Popen([*command, str(run), "60"], env=patient, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    wait_for_step(run, 10, process)
    programs = having("RAY_TMPDIR", ray_environment["RAY_TMPDIR"])
    workers = [number for number, program in programs.items() if program.startswith("ray::RayTrainWorker")]
    assert len(workers) == 2
    os.kill(workers[-1], signal.SIGKILL)
    said = process.communicate(timeout=TIMEOUT)[1]
    assert process.returncode == 0, said[-3000:]
    assert describe_run(run).state == "finished"
    shutil.rmtree(f"{run}-ray", ignore_errors=True)
