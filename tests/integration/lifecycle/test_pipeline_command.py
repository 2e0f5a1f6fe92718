"""``nd pipeline`` in processes of its own."""

from __future__ import annotations

import ast
import json
import re
import shlex
import signal
import time
from pathlib import Path

import pytest

from tests.integration.test_command_line import nd, refused, start
from tests.unit.lifecycle.pipeline.tables import daily

ROOT = Path(__file__).parents[3]
FILE = """
directory = "out"
[data]
path = "data.csv"
[[stages]]
stage = "data_validation"
name = "check"
[[stages]]
function = "mine:slow"
name = "mine"
seconds = 0.0
[[stages]]
function = "mine:count"
outputs = "rows"
inputs = { table = "check.table" }
"""
MINE = """
import time
from pathlib import Path

def slow(table, seconds):
    Path("began").write_text("")
    time.sleep(seconds)
    if Path("broken").exists():
        raise RuntimeError("no luck")
    return table

def count(table):
    return table.height
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    daily(30).write_csv(tmp_path / "data.csv")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "pipeline.toml").write_text(FILE)
    return tmp_path


def run(place: Path, *arguments: str, code: int = 0) -> dict[str, str]:
    said, _ = nd("pipeline", "run", "pipeline.toml", "--json", *arguments, cwd=place, code=code)
    return json.loads(said)["stages"] if said else {}  # type: ignore[no-any-return]


def test_stages_are_run_once_then_cached_and_status_and_graph_tell_of_them(place: Path) -> None:
    said, _ = nd("pipeline", "run", "pipeline.toml", cwd=place)
    assert "[1/3] check: done in" in said
    assert "[3/3] count: done in" in said
    assert run(place) == {"check": "cached", "mine": "cached", "count": "cached"}
    found = json.loads(nd("pipeline", "status", "out", "--json", cwd=place)[0])
    assert found["counts"] == {"cached": 3}
    graph = json.loads(nd("pipeline", "graph", "pipeline.toml", "--json", cwd=place)[0])
    assert graph["order"] == ["check", "mine", "count"]
    assert (place / "out" / "report.html").is_file()


@pytest.mark.long
def test_stage_only_force_directory_and_clean(place: Path) -> None:
    assert "the result of stage 'check' is not there" in refused(
        "pipeline", "run", "pipeline.toml", "--stage", "count", "--only", cwd=place
    )
    assert run(place, "--stage", "count") == {"check": "done", "count": "done"}
    assert run(place, "--stage", "count", "--only") == {"check": "cached", "count": "cached"}
    assert run(place, "--force", "check", "--force", "mine") == {"check": "done", "mine": "done", "count": "cached"}
    assert run(place, "--directory", "other") == {"check": "done", "mine": "done", "count": "done"}
    (place / "pipeline.toml").write_text(FILE.replace("seconds = 0.0", "seconds = 0.01"))
    assert run(place) == {"check": "cached", "mine": "done", "count": "cached"}
    assert "1 result removed" in nd("pipeline", "clean", "pipeline.toml", cwd=place)[0]


@pytest.mark.long
def test_failed_stage_ends_with_seven_and_the_next_run_goes_on(place: Path) -> None:
    (place / "broken").touch()
    _, errors = nd("pipeline", "run", "pipeline.toml", cwd=place, code=7)
    assert "error: stage 'mine' failed: RuntimeError: no luck." in errors
    (place / "pipeline.toml").write_text('on_error = "continue"' + FILE)
    _, errors = nd("pipeline", "run", "pipeline.toml", cwd=place, code=7)
    states = {
        item["name"]: item["state"]
        for item in json.loads(nd("pipeline", "status", "out", "--json", cwd=place)[0])["stages"]
    }
    assert states == {"check": "cached", "mine": "failed", "count": "done"}
    (place / "broken").unlink()
    assert run(place) == {"check": "cached", "mine": "done", "count": "cached"}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("data_validation", "data_validaton", "Did you mean 'data_validation'"),
        ("mine:slow", "mine:slwo", "mine has no 'slwo'. Did you mean 'slow'"),
        ('path = "data.csv"', 'path = "absent.csv"', "absent.csv: not found"),
    ],
)
def test_mistakes_are_said_in_one_line_before_torch_is_loaded(before: str, after: str, words: str, place: Path) -> None:
    (place / "pipeline.toml").write_text(FILE.replace(before, after))
    assert words in refused("pipeline", "run", "pipeline.toml", cwd=place)


def test_what_is_no_pipeline_is_refused(place: Path) -> None:
    assert "has not been run" in refused("pipeline", "status", "pipeline.toml", cwd=place)
    assert "exists already" in refused("pipeline", "init", "pipeline.toml", cwd=place)


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_leaves_a_state_from_which_the_same_command_goes_on(
    number: signal.Signals, code: int, place: Path
) -> None:
    (place / "pipeline.toml").write_text(FILE.replace("seconds = 0.0", "seconds = 60.0"))
    process = start("pipeline", "run", "pipeline.toml", cwd=place)
    end = time.monotonic() + 60
    while not (place / "began").exists():
        time.sleep(0.05)
        assert time.monotonic() < end
    found = json.loads(nd("pipeline", "status", "pipeline.toml", "--json", cwd=place)[0])
    assert [item["state"] for item in found["stages"]] == ["done", "running", "waiting"]
    assert "in use by pid" in nd("pipeline", "run", "pipeline.toml", cwd=place, code=2)[1]
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    found = json.loads(nd("pipeline", "status", "pipeline.toml", "--json", cwd=place)[0])
    assert (found["state"], found["stages"][1]["state"]) == ("interrupted", "interrupted")
    (place / "pipeline.toml").write_text(FILE)
    assert run(place) == {"check": "cached", "mine": "done", "count": "done"}


@pytest.mark.long
def test_template_of_init_runs_as_it_is(tmp_path: Path) -> None:
    said, _ = nd("pipeline", "init", "project/flights.toml", cwd=tmp_path)
    assert "nd pipeline run project/flights.toml" in said
    nd("pipeline", "run", "project/flights.toml", cwd=tmp_path)
    found = json.loads(nd("pipeline", "status", "project/flights.toml", "--json", cwd=tmp_path)[0])
    assert found["counts"] == {"done": 5}
    assert (tmp_path / "project" / "flights-pipeline" / "report.html").is_file()


@pytest.mark.long
def test_every_line_of_the_template_that_is_commented_out_is_right(tmp_path: Path) -> None:
    """What the template offers as comments must be understood when somebody takes it up."""
    nd("pipeline", "init", "all.toml", cwd=tmp_path)
    text = (tmp_path / "all.toml").read_text()
    body = text[text.index("[data]") :]
    lines = [re.sub(r"^# (?=[\[\w])", "", line) for line in body.splitlines()]
    lines = [
        line for line in lines if not line.startswith(("past =", "required =", "types =", "freshness =", "actions ="))
    ]
    (tmp_path / "all.toml").write_text(
        'directory = "out"\n'
        + "\n".join(lines).replace("trials = 20", "trials = 2").replace("coverage = 10 ", "coverage = 100 ")
    )
    (tmp_path / "stores.csv").write_text("unique_id,size\nAirPassengers,3\n")
    (tmp_path / "my_stages.py").write_text(
        "def add_stores(table, stores):\n    return table.join(stores, on='unique_id')\n"
    )
    (tmp_path / "my_features.py").write_text(
        "import polars as pl\ndef moving_range(table):\n    y = pl.col('y')\n"
        "    return table.select(moving_range=y.rolling_max(12) - y.rolling_min(12))\n"
    )
    nd("pipeline", "run", "all.toml", cwd=tmp_path)
    found = json.loads(nd("pipeline", "status", "all.toml", "--json", cwd=tmp_path)[0])
    assert found["counts"] == {"done": 8}


SCHEDULERS = sorted((ROOT / "examples" / "schedulers").iterdir())


def test_schedulers_call_commands_and_options_that_exist(tmp_path: Path) -> None:
    known = nd("pipeline", "run", "--help", cwd=tmp_path)[0]
    calls = [line for path in SCHEDULERS for line in path.read_text("utf-8").splitlines() if "nd pipeline" in line]
    assert len(calls) >= len([path for path in SCHEDULERS if path.suffix != ".timer"])
    for line in calls:
        found = re.search(r"nd pipeline (\w+)([^\"'`]*)", line)
        assert found is not None
        assert found[1] == "run", line
        for option in re.findall(r"--[a-z-]+", found[2]):
            assert option in known, line


@pytest.mark.parametrize("path", [path for path in SCHEDULERS if path.suffix == ".py"], ids=lambda path: path.name)
def test_scheduler_of_python_compiles(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree)
    compile(tree, str(path), "exec")


def test_crontab_and_units_have_the_fields_that_they_need() -> None:
    names = {path.name: path.read_text("utf-8") for path in SCHEDULERS}
    jobs = [
        line
        for line in names["crontab"].splitlines()
        if line and not line.startswith("#") and "=" not in line.split()[0]
    ]
    assert jobs
    for line in jobs:
        assert re.match(r"(?:[\d*/,-]+ ){5}\S", line)
        shlex.split(line.split(maxsplit=5)[5])
    assert "OnCalendar=" in names["nd-pipeline.timer"]
    assert "ExecStart=" in names["nd-pipeline.service"]
