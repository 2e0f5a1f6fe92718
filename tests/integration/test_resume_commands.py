"""Runs that are interrupted and resumed from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.integration.test_command_line import COLUMNS, nd, refused, sales, start

__all__ = ["sales"]  # the fixture

TRAIN = ("train", "sales.csv", *COLUMNS, "--horizon", "7", "--model", "nlinear", "--threads", "1")
LONG = ("--max-steps", "4000", "--set", "training.early_stopping=none", "--set", "checkpoints.every_steps=20")


def interrupted(*arguments: str, cwd: Path, with_signal: signal.Signals = signal.SIGTERM) -> str:
    """Begin a run, interrupt it and return what it said last."""
    process = start(*arguments, cwd=cwd)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("step ")  # training is under way
    process.send_signal(with_signal)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + with_signal, errors
    return errors.splitlines()[-1]


def weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


@pytest.mark.long
def test_an_interrupted_run_ends_with_the_same_model(sales: Path) -> None:
    settings = ("--max-steps", "400", "--set", "training.early_stopping=none")
    nd(*TRAIN, *settings, "--output", "whole", "-q", cwd=sales)
    said = interrupted(*TRAIN, *settings, "--output", "run", cwd=sales, with_signal=signal.SIGINT)
    assert said.endswith("and saved. Resume with: nd train run --resume")
    listed, _ = nd("runs", ".", cwd=sales)
    assert "interrupted" in listed
    output, _ = nd("train", "run", "--resume", cwd=sales)
    assert "resume  run at step " in output
    assert "nd predict run" in output
    assert weights(sales / "run") == weights(sales / "whole")
    output, _ = nd("train", "run", "--resume", cwd=sales)
    assert output == "run: finished already. For more steps pass --max-steps with a larger number.\n"


@pytest.mark.long
def test_the_same_command_with_resume_begins_and_goes_on(sales: Path) -> None:
    """What a scheduler that starts a job again and again needs: one command for all times."""
    command = (*TRAIN, *LONG, "--output", "runs/job", "--resume")
    for _ in range(2):
        interrupted(*command, cwd=sales)
    done = json.loads((sales / "runs/job/status.json").read_text())
    assert done["state"] == "interrupted"
    output, _ = nd(*command[:-1], "--resume", "--max-steps", "60", "--json", cwd=sales)
    assert json.loads(output)["run"] == "runs/job"
    assert "already" in nd("train", "runs/job", "--resume", cwd=sales)[0]


@pytest.mark.long
def test_without_a_name_the_latest_unfinished_run_is_taken(sales: Path) -> None:
    assert "no unfinished run of nlinear in runs/" in refused(*TRAIN, "--resume", cwd=sales)
    interrupted(*TRAIN, *LONG, cwd=sales)
    (run,) = (sales / "runs").iterdir()
    output, _ = nd(*TRAIN, *LONG[2:], "--max-steps", "30", "--resume", cwd=sales)
    assert f"nd predict runs/{run.name}" in output


@pytest.mark.long
def test_what_has_changed_is_refused(sales: Path) -> None:
    interrupted(*TRAIN, *LONG, "--output", "run", cwd=sales)
    said = refused("train", "run", "--resume", "--lr", "0.1", "--set", "task.scaler=robust", cwd=sales)
    assert "task.scaler.name: 'standard' before, 'robust' now; training.optimizer.lr: 0.001 before, 0.1 now" in said
    assert "--allow-changes" in said
    table = pl.read_csv(sales / "sales.csv")
    table.with_columns(pl.col("units") * 1.001).write_csv(sales / "sales.csv")
    assert "the data have changed since the run began" in refused("train", "run", "--resume", cwd=sales)
    nd("train", "run", "--resume", "--lr", "0.1", "--max-steps", "20", "--allow-changes", "-q", cwd=sales)
    assert "is a run; resume it with 'nd train run --resume'" in refused("train", "run", cwd=sales)
    assert "exists already; resume it (--resume)" in refused(*TRAIN, "--output", "run", cwd=sales)


def test_a_run_in_use_is_refused(sales: Path) -> None:
    process = start(*TRAIN, *LONG, "--max-steps", "1000000", "--output", "run", cwd=sales)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("step ")
        said = nd("train", "run", "--resume", cwd=sales, code=2)[1]
        assert f"error: run: in use by pid {process.pid} on host" in said
        assert f"kill {process.pid}" in said
        assert "running, step" in nd("health", "run", cwd=sales)[0]
    finally:
        process.kill()
        process.communicate()
    assert "killed" in nd("health", "run", cwd=sales, code=1)[0]


@pytest.mark.long
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(sales: Path) -> None:
    interrupted(*TRAIN, *LONG, "--set", "checkpoints.every_steps=5", "--output", "run", cwd=sales)
    last = sorted((sales / "run/checkpoints").glob("step-*"))[-1]
    content = (last / "state.json").read_bytes()
    (last / "state.json").write_bytes(content[:-1])
    _, errors = nd("train", "run", "--resume", "--max-steps", "30", cwd=sales)
    assert f"warning: run/checkpoints/{last.name}: damaged (state.json" in errors
    assert "set aside as run/checkpoints/set-aside/" in errors


@pytest.mark.parametrize("name", ["run.pt", "run.ckpt", "run.pkl"])
def test_pickles_are_refused_with_a_sentence(name: str, sales: Path) -> None:
    (sales / name).write_bytes(b"\x80\x04N.")
    for command in (("predict", name), ("train", name, "--horizon", "3"), ("evaluate", name, "sales.csv")):
        said = nd(*command, cwd=sales, code=3)[1]
        assert "pickle is never loaded" in said
        assert said.count("\n") == 1


@pytest.mark.long
def test_a_crash_is_survived_with_retries(sales: Path) -> None:
    command = (*TRAIN, "--max-steps", "1500", "--set", "training.early_stopping=none", "--output", "run")
    nd(*command[:-1], "whole", "-q", cwd=sales)
    process = start(*command, "--retries", "2", "--set", "checkpoints.every_steps=50", cwd=sales)
    assert process.stderr is not None
    while "step 1" not in process.stderr.readline():
        assert process.poll() is None
    child = json.loads((sales / "run/heartbeat.json").read_text())["pid"]
    assert child != process.pid
    subprocess.run(["kill", "-9", str(child)], check=True)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "attempt 1 of 3 ended: killed by SIGKILL at step" in errors
    assert weights(sales / "run") == weights(sales / "whole")
