"""Training on more rows than fit in memory: 200 million rows with 600 MB, a billion in ``make soak``."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.distributed.together import run_together
from tests.reliability.large_panel import KILLED_AFTER, MEGABYTE, Started, write_large_panel, write_large_table

pytestmark = pytest.mark.long

ROWS = 1_000_000_000 if os.environ.get("ND_SOAK") else 200_000_000
MEGABYTES = 600
# Tables of forecasts are examined and drawn: half a million rows, or 2.4 million of the 100,000 series of a billion.
REPORT_MEGABYTES = 1_200 if ROWS == 200_000_000 else 2_200


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)  # gigabytes, which pytest would keep


def test_conversion_training_kill_and_resume_with_little_memory_equal_training_in_memory(place: Path) -> None:
    write_large_table(place / "table", ROWS)
    panel = str(place / "panel")
    converted = Started("convert", str(place / "table" / "*.parquet"), panel, MEGABYTES).result()
    shutil.rmtree(place / "table")
    assert converted["rows"] == ROWS
    # Without a limit, and from arrays that were never on disk; at the same time as the others.
    in_memory = Started("fit", ROWS, str(place / "in memory"), None)
    never_stopped = Started("fit", panel, str(place / "never stopped"), MEGABYTES).result()
    killed = Started("fit", panel, str(place / "killed"), MEGABYTES, KILLED_AFTER)
    assert killed.result(-signal.SIGKILL) is None
    resumed = Started("resume", str(place / "killed"), MEGABYTES).result()
    expected = in_memory.result()
    assert expected["memory"]["RssAnon"] > 4 * ROWS  # the limit would have been noticed
    for name in ("weights", "losses", "trained_on", "intervals"):
        assert never_stopped[name] == expected[name]
        assert resumed[name] == expected[name]


def test_scores_forecasts_and_report_of_a_large_panel_are_made_with_little_memory(place: Path) -> None:
    write_large_panel(place / "panel", ROWS)
    run = place / "run"
    made = Started("fit_and_report", str(place / "panel"), str(run), REPORT_MEGABYTES).result()
    assert {"model", "scores.json", "forecasts.csv", "diagnosis.json", "report.html"} <= set(made["files"])
    in_memory = Started("score", str(run / "model"), ROWS, None)
    scored = Started("score", str(run / "model"), str(place / "panel"), MEGABYTES).result()
    expected = in_memory.result()
    for name in ("rows", "hash", "scores"):
        assert scored[name] == expected[name]


def test_own_memory_of_processes_that_train_together_does_not_grow_with_the_panel(place: Path) -> None:
    panels = [str(place / str(rows)) for rows in (5_000_000, 5_000_000, 50_000_000)]  # the first one loads modules
    for panel in set(panels):
        write_large_panel(Path(panel), int(Path(panel).name))
    for _, small, large in run_together("tests.reliability.large_panel:fit_together", 2, *panels):
        assert large - small < 20 * MEGABYTE  # the larger panel has 180 MB more
