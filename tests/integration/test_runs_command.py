"""`nd runs` and `nd health` beside real runs, in every state a run can be in."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.cli.runs import app
from neuro_divergent.interfaces.cli.runs.naming import find_run
from neuro_divergent.runs.status import describe_run, write_status
from tests.integration.test_command_line import COLUMNS, FAST, nd, refused, sales, start
from tests.unit.runs.runs import make_run

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


def test_a_run_that_finished(sales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    nd(*TRAIN, *FAST, "--test", "0.1", "--output", "runs/b", "--quiet", cwd=sales)
    line = without_torch("health", "runs/b", cwd=sales)
    assert line == "runs/b: finished, step 20 of 20\n"
    shown = without_torch("runs", "runs/b", cwd=sales)
    assert "test part, mae" in shown
    assert "nd predict runs/b" in shown
    for name in ("b", "runs/b"):
        assert without_torch("runs", "show", name, cwd=sales).split("checkpoint")[0] == shown.split("checkpoint")[0]
    assert "not found, and runs holds no run of that name" in refused("runs", "show", "bb", cwd=sales)
    document = json.loads(without_torch("runs", "runs/b", "--json", cwd=sales))
    header, row = (line.split() for line in without_torch("runs", cwd=sales).splitlines())
    place = header.index("MAE") - 1  # "validation loss" is two words
    assert float(row[place]) == pytest.approx(document["score"]["mae"], rel=1e-3)
    assert (document["state"], document["model"], document["horizon"]) == ("finished", "nlinear", 7)
    assert document["checkpoints"][-1]["step"] == 20
    assert document["checkpoints"][-1]["is_complete"]
    assert document["damaged"] == []
    assert not json.loads(without_torch("runs", "--json", cwd=sales))["runs"][0]["damaged"]


@pytest.mark.long
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
        beat = {"pid": os.getpid(), "host": "h", "time": time.time() - 150, "step": 3, "phase": "training"}
        (run / "heartbeat.json").write_text(json.dumps(beat))
        os.utime(run / "heartbeat.json", (time.time() - 150, time.time() - 150))
        (run / "lock").write_text("")
        assert "running, step 3" in without_torch("health", "runs/d", cwd=tmp_path)
        shown = without_torch("health", "runs/d", "--stale", "60", cwd=tmp_path, code=1)
        assert re.match(r"runs/d: stalled, step 3, last heartbeat [\d.]+ min ago", shown)
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


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with runs, which is the current one."""
    make_run(tmp_path / "runs" / "first", lr=0.001, mae=2.0, best=0.1, time=3e9)
    make_run(tmp_path / "runs" / "second", lr=0.01, mae=1.0, best=0.2, time=2e9, model="tft")
    make_run(tmp_path / "runs" / "third", lr=0.01, mae=None, best=None, time=1e9, state="failed")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def show(*arguments: str, answer: str = "", code: int = 0) -> str:
    """Run a command of `nd runs` in this process, and return what it wrote."""
    result = CliRunner().invoke(app, list(arguments), input=answer, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def names_in(path: Path) -> list[str]:
    return sorted(item.name for item in path.iterdir())


def shown_names(*arguments: str) -> list[str]:
    return [run["name"] for run in json.loads(show(*arguments, "--json"))["runs"]]


@pytest.mark.usefixtures("place")
def test_runs_are_sorted_filtered_and_counted() -> None:
    assert shown_names() == shown_names("list") == shown_names("runs") == ["first", "second", "third"]
    assert shown_names("--reverse") == ["third", "second", "first"]
    assert shown_names("--sort", "mae") == ["second", "first", "third"]
    assert shown_names("--sort", "best", "--reverse") == ["second", "first", "third"]
    assert shown_names("--sort", "name", "--limit", "2") == ["first", "second"]
    assert shown_names("--state", "failed,finished", "--model", "nhits") == ["first", "third"]
    assert shown_names("--where", "training.optimizer.lr>0.001") == ["second", "third"]
    assert shown_names("runs", "--where", "training.optimizer.lr=0.01", "--where", "mae<=1") == ["second"]
    assert "2 more; --limit says" in show("--limit", "1")
    assert "None of the 3 runs in runs is like that" in show("--state", "running")
    with pytest.raises(InputError, match="not a condition"):
        show("--where", "lr")


@pytest.mark.usefixtures("place")
def test_runs_side_by_side() -> None:
    document = json.loads(show("compare", "first", "runs/second", "--json"))
    assert [run["name"] for run in document["runs"]] == ["first", "second"]
    facts = {fact["name"]: (fact["values"], fact["best"]) for fact in document["facts"]}
    assert facts["state"] == (["finished", "finished"], [])
    assert facts["best"] == ([0.1, 0.2], [0])
    assert facts["mae"] == ([2.0, 1.0], [1])
    assert document["differences"] == [
        {"setting": "model.name", "values": ["nhits", "tft"]},
        {"setting": "training.optimizer.lr", "values": [0.001, 0.01]},
    ]
    lines = [line.split() for line in show("compare", "first", "second", "third").splitlines()]
    assert ["mae", "2", "1", "*", "-"] in lines
    assert ["training.optimizer.lr", "0.001", "0.01", "0.01"] in lines
    for names, message in (
        (["first"], "at least two"),
        (["first", "runs/first"], "at least two"),
        (["a", "b"], "a: not"),
    ):
        with pytest.raises(InputError, match=message):
            show("compare", *names)
    with pytest.raises(
        InputError, match=r"firts: not found, and runs holds no run of that name. Did you mean 'first'\?"
    ):
        show("compare", "first", "firts")


def test_runs_of_equal_names_are_shown_by_their_paths(place: Path) -> None:
    make_run(place / "other" / "first")
    document = json.loads(show("compare", "first", "other/first", "--json"))
    assert [run["name"] for run in document["runs"]] == ["runs/first", "other/first"]
    assert [item["setting"] for item in document["differences"]] == []
    assert "Their settings are the same." in show("compare", "first", "other/first")


def test_a_run_is_deleted_after_a_question(place: Path) -> None:
    assert "[y/N]" in show("delete", "first", answer="n\n", code=1)
    assert (place / "runs" / "first" / "config.toml").exists()
    assert "runs/first" in show("delete", "first", answer="y\n")
    assert names_in(place / "runs") == ["second", "third"]
    with RunLock(place / "runs" / "third" / "lock"), pytest.raises(InputError, match="runs/third: in use"):
        show("delete", "second", "third", "--yes")
    assert names_in(place / "runs") == ["second", "third"]  # all or none
    with pytest.raises(InputError, match="say --yes"):
        show("delete", "second", "--json")
    (place / "config.toml").write_text("")
    with pytest.raises(InputError, match=r"\.: is not certainly a run"):
        show("delete", ".", "--yes")
    assert len(json.loads(show("delete", "second", "third", "--yes", "--json"))["deleted"]) == 2
    assert names_in(place / "runs") == []
    assert (place / "config.toml").exists()


def test_old_checkpoints_are_deleted(place: Path) -> None:
    output = show("delete", "first", "--checkpoints", "--yes")
    assert output.startswith("Deleted old checkpoints of runs/first; ")
    left = [item.name for item in describe_run(place / "runs" / "first").checkpoints]
    assert left == ["step-000000001", "step-000000003"]


def test_runs_are_exported(place: Path) -> None:
    assert "3 rows of 3 runs" in show("export", "-o", "out/runs.csv")
    frame = pl.read_csv(place / "out" / "runs.csv")
    assert frame["training.optimizer.lr"].to_list() == [0.001, 0.01, 0.01]
    show("export", "third", "first", "--history", "-o", "losses.parquet")
    table = pl.read_parquet(place / "losses.parquet")
    assert table["run"].unique(maintain_order=True).to_list() == ["third", "first"]
    assert table.height == 6
    assert json.loads(show("export", "first", "-o", "first.zip", "--json"))["files"] == 7
    for arguments, message in (
        (["first", "second", "-o", "a.zip"], "one whole run"),
        (["-o", "a.xlsx"], "ends in"),
        (["--runs", "nowhere", "-o", "a.csv"], "no runs there"),
    ):
        with pytest.raises(InputError, match=message):
            show("export", *arguments)


def test_a_name_is_never_a_way_out_of_the_directory_of_runs(place: Path) -> None:
    make_run(place / "elsewhere")
    for name in ("../elsewhere", "..", ".", "", "first/../../elsewhere"):
        with pytest.raises(InputError, match="holds no run of that name"):
            show("export", name, "--runs", str(place / "runs"), "-o", "a.csv")


def test_comparing_does_without_torch(place: Path) -> None:
    assert "training.optimizer.lr" in without_torch("runs", "compare", "first", "second", cwd=place)
    assert "compare" in without_torch("runs", "--help", cwd=place)


def test_a_name_that_stands_for_two_runs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("twice", "runs/twice"):
        Path(place).mkdir(parents=True)
        Path(place, "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"one here and one in runs\. Write \./twice or runs/twice"):
        find_run("twice", Path("runs"))
    assert find_run("./twice", Path("runs")) == Path("twice")
    assert find_run("runs/twice", Path("runs")) == Path("runs/twice")
