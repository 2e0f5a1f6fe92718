"""``nd`` without a command says what to do next, by what is in the current directory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuro_divergent.interfaces.cli import main


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["nd"])
    return tmp_path


def make_run(place: Path, name: str, state: str, **more: object) -> Path:
    run = place / "runs" / name
    run.mkdir(parents=True)
    (run / "config.toml").write_text("[model]\nname = 'nhits'\n", "utf-8")
    status = {"state": state, "time": time.time(), "step": 120, "total_steps": 500, "message": "", **more}
    (run / "status.json").write_text(json.dumps(status), "utf-8")
    if state == "finished":
        (run / "model").mkdir()
        (run / "model" / "manifest.json").write_text("{}", "utf-8")
    return run


def start(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main._run() == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert len(output.splitlines()) <= 12  # not the whole help
    assert "nd --help" in output
    return [" ".join(line.split("   ")[0].split()) for line in output.splitlines() if line.startswith("  ")]


def test_in_an_empty_directory_the_demo_comes_first(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(capsys) == ["nd demo", "nd train sales.csv --horizon 24"]


def test_a_table_that_is_there_is_the_one_to_train_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "my load.csv").touch()
    (place / "notes.md").touch()
    assert start(capsys)[1] == "nd train 'my load.csv' --horizon 24"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("finished", "nd predict runs/a"),
        ("interrupted", "nd train runs/a --resume"),
        ("running", "nd train runs/a --resume"),  # nobody holds it: it was killed
        ("failed", "nd train runs/a --resume"),
        ("diverged", "nd doctor runs/a"),
    ],
)
def test_the_first_command_fits_the_state_of_the_latest_run(
    state: str, expected: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(place, "a", state)
    assert start(capsys)[0] == expected


def test_the_run_that_changed_last_is_shown_and_the_others_are_counted(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(place, "z", "finished")
    time.sleep(0.02)
    make_run(place, "a", "interrupted")
    assert main._run() == 0
    output = capsys.readouterr().out
    assert "Latest run: runs/a (nhits), interrupted, step 120 of 500. Next:" in output
    assert "all 2 runs" in output


def test_the_commands_that_are_suggested_are_commands(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for state in ("finished", "interrupted", "diverged"):
        make_run(place, state, state)
        for line in start(capsys):
            assert line.split()[1] in main.commands().commands


def test_it_loads_neither_torch_nor_polars(place: Path) -> None:
    make_run(place, "a", "finished")
    command = [sys.executable, "-X", "importtime", "-m", "neuro_divergent"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {row.rsplit("|", 1)[-1].strip() for row in result.stderr.splitlines()}
    assert "nd predict runs/a" in result.stdout
    assert not loaded & {"torch", "polars", "rich", "jinja2"}


def test_help_has_every_command_under_a_heading(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["nd", "--help"])
    assert main._run() == 0
    text = capsys.readouterr().out
    headings = [line.rstrip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", "Train", "Use", "Evaluate", "Search", "Operate", "Scale", "Shell"]
    assert {line.split()[0] for line in text.splitlines() if line.startswith("  ")} >= set(main.commands().commands)


def test_runs_are_found_by_the_files_that_runs_have() -> None:
    from neuro_divergent.data.io import file_kind
    from neuro_divergent.interfaces.cli import found_runs
    from neuro_divergent.runs import directory

    assert found_runs._MODEL == directory.MODEL
    assert set(found_runs._MARKS) == {directory.RUN, directory.STATUS, directory.CONFIG}
    assert all(file_kind.kind_of(f"table{ending}") for ending in found_runs.TABLES)
