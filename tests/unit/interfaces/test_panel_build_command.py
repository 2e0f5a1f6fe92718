"""``nd panel build`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.progress import Task, use_display
from neuro_divergent.core.progress_display import describe
from neuro_divergent.data.conversion.progress import Progress
from neuro_divergent.data.panel import Panel
from neuro_divergent.interfaces.cli.panel import app
from neuro_divergent.interfaces.cli.panel.build import parse_size, stages


@pytest.fixture
def source(tmp_path: Path) -> str:
    frame = pl.DataFrame({"store": np.repeat(["b", "a"], 5), "day": [*range(5)] * 2, "units": np.arange(10.0)})
    frame.head(7).write_csv(tmp_path / "1.csv")
    frame.slice(7).write_csv(tmp_path / "2.csv")
    return f"{tmp_path}/*.csv"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["build", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_files_become_a_panel(source: str, tmp_path: Path) -> None:
    roles = ["--target", "units", "--time", "day", "--id", "store", "--missing", "mask"]
    found = json.loads(run(source, "--output", str(tmp_path / "panel"), *roles, "--memory", "64MiB", "--json"))
    panel = Panel.open(tmp_path / "panel")
    assert found.pop("seconds") > 0
    assert found.pop("bytes") > 40
    assert found == {"panel": str(tmp_path / "panel"), "rows": 10, "series": 2, "frequency": "1"}
    assert panel.ids.to_list() == ["a", "b"]
    assert panel.y.tolist() == [5, 6, 7, 8, 9, 0, 1, 2, 3, 4]
    assert panel.schema.missing == "mask"
    assert "10 rows of 2 series every 1" in run(source, "-o", str(tmp_path / "panel"), *roles, "--restart")


def test_a_place_to_write_to_is_needed(source: str) -> None:
    with pytest.raises(InputError, match="--output"):
        run(source)


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 * 10**6), ("2 GiB", 2 * 2**30), ("1.5g", 15 * 10**8), ("100", 100), ("3k", 3000)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1XB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--memory"):
        parse_size(text)


def test_stages_are_tasks_with_their_rows_rate_and_time_left() -> None:
    seen: list[str] = []

    class Shown:
        def update(self, tasks: tuple[Task, ...]) -> None:
            seen.append(describe(tasks))

        def close(self, task: Task, error: BaseException | None) -> None:
            seen.append(f"end of {task.name}")

    with use_display(Shown()), stages() as show:
        show(Progress("counting", 10 * 10**6, 10**8, 10.0))
        show(Progress("counting", 30 * 10**6, 10**8, 10.0))
        show(Progress("writing", 5 * 10**7, 10**8, 10.0))
    assert seen[2] == "Counting: 30,000,000/100,000,000 rows, 23 s left, 3 M rows/s"
    assert seen[-4:] == [
        "end of Counting",
        "Writing: 0/100,000,000 rows",
        "Writing: 50,000,000/100,000,000 rows, 10 s left, 5 M rows/s",
        "end of Writing",
    ]
