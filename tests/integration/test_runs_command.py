"""`nd runs` and `nd health` beside real runs, in every state a run can be in."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from neuro_divergent.core.lock import RunLock
from neuro_divergent.forecasting.run_status import describe_run, write_status
from tests.integration.test_command_line import COLUMNS, FAST, nd, refused, sales, start

__all__ = ["sales"]  # the fixture

TRAIN = ("train", "sales.csv", *COLUMNS, "--horizon", "7")
ENDLESS = (
    "--model", "nlinear", "--threads", "1", "--max-steps", "100000000", "--set", "training.early_stopping=none",
)  # fmt: skip
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills as POSIX systems do")


def without_torch(*arguments: str, cwd: Path, code: int = 0) -> str:
    """Run a command that must not load torch, and return what it wrote."""
    output, errors = nd(*arguments, cwd=cwd, code=code, python=("-X", "importtime"))
    assert "| torch\n" not in errors.replace(" ", "").replace("|", "| ")
    return output


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            pytest.fail(process.communicate()[1])
        time.sleep(0.05)


def test_a_run_from_its_beginning_to_a_kill(sales: Path) -> None:
    run = sales / "runs" / "a"
    process = start(*TRAIN, *ENDLESS, "--output", "runs/a", "--quiet", cwd=sales)
    wait_for(lambda: (run / "heartbeat.json").exists(), process)
    assert "running" in without_torch("health", "runs/a", cwd=sales)
    shown = without_torch("runs", cwd=sales)
    assert shown.splitlines()[1].split()[:2] == ["a", "running"]
    assert "nlinear" in shown
    message = refused(*TRAIN, *ENDLESS, "--output", "runs/a", "--resume", cwd=sales)
    assert f"runs/a: in use by pid {process.pid} on host" in message
    assert f"stop it with: kill {process.pid}" in message

    process.kill()
    process.communicate()
    assert "killed" in without_torch("health", "runs/a", cwd=sales, code=1)
    shown = without_torch("runs", "runs/a", cwd=sales)
    assert "killed, step" in shown
    assert "nlinear, 7 steps ahead, from sales.csv" in shown
    assert "nd train runs/a --resume" in shown


def test_a_run_that_finished(sales: Path) -> None:
    nd(*TRAIN, *FAST, "--test", "0.1", "--output", "runs/b", "--quiet", cwd=sales)
    line = without_torch("health", "runs/b", cwd=sales)
    assert line == "runs/b: finished, step 20 of 20\n"
    shown = without_torch("runs", "runs/b", cwd=sales)
    assert "test part, mae" in shown
    assert "nd predict runs/b" in shown
    document = json.loads(without_torch("runs", "runs/b", "--json", cwd=sales))
    assert (document["state"], document["model"], document["horizon"]) == ("finished", "nlinear", 7)
    assert document["checkpoints"][-1]["step"] == 20
    assert document["checkpoints"][-1]["is_complete"]
    assert document["damaged"] == []
    assert not json.loads(without_torch("runs", "--json", cwd=sales))["runs"][0]["damaged"]


def test_a_run_that_was_interrupted(sales: Path) -> None:
    run = sales / "runs" / "c"
    process = start(*TRAIN, *ENDLESS, "--output", "runs/c", "--quiet", cwd=sales)
    wait_for(lambda: (run / "heartbeat.json").exists(), process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    found = describe_run(run)
    assert found.state == "interrupted"
    assert found.checkpoints[-1].step == found.step
    assert "nd train runs/c --resume" in without_torch("health", "runs/c", cwd=sales, code=1)


def test_a_run_that_stalls(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "d"
    run.mkdir(parents=True)
    with RunLock(run / "lock"):
        write_status(run, "running")
        beat = {"pid": os.getpid(), "host": "h", "time": time.time() - 100, "step": 3, "phase": "training"}
        (run / "heartbeat.json").write_text(json.dumps(beat))
        os.utime(run / "heartbeat.json", (time.time() - 100, time.time() - 100))
        (run / "lock").write_text("")
        assert "running, step 3" in without_torch("health", "runs/d", cwd=tmp_path)
        shown = without_torch("health", "runs/d", "--stale", "60", cwd=tmp_path, code=1)
        assert shown.startswith("runs/d: stalled, step 3, last sign of life 2 min ago")
        document = json.loads(without_torch("health", "runs/d", "--stale", "60", "--json", cwd=tmp_path, code=1))
        assert (document["state"], document["healthy"]) == ("stalled", False)


def test_places_without_runs(tmp_path: Path) -> None:
    assert "No runs in runs" in without_torch("runs", cwd=tmp_path)
    assert json.loads(without_torch("runs", "--json", cwd=tmp_path)) == {"path": "runs", "runs": []}
    assert "nowhere: not found" in refused("runs", "nowhere", cwd=tmp_path)
    assert "nowhere: not found" in refused("health", "nowhere", cwd=tmp_path)
    (tmp_path / "file").write_text("")
    assert "file: is not a directory" in refused("runs", "file", cwd=tmp_path)
    assert ".: is not a run" in refused("health", ".", cwd=tmp_path)


def test_a_thousand_runs_are_listed_in_two_seconds(tmp_path: Path) -> None:
    for number in range(1000):
        run = tmp_path / "runs" / f"sales-nhits-{number:04d}"
        checkpoint = run / "checkpoints" / "step-000000100"
        checkpoint.mkdir(parents=True)
        (checkpoint / "manifest.json").write_text("{}")
        (run / "config.toml").write_text('[data]\npath = "sales.csv"\n[model]\nname = "nhits"\n[task]\nhorizon = 3\n')
        (run / "status.json").write_text(json.dumps({"state": "failed", "time": 1e9 + number, "step": number}))
    before = os.times().children_user
    shown = without_torch("runs", cwd=tmp_path)
    assert len(shown.splitlines()) == 1001
    assert os.times().children_user - before < 2.5  # of the processor; half a second of it is the start
