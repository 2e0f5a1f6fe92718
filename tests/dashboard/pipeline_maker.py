"""Makes pipelines of small functions, some of which fail or wait."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
from neuro_divergent.lifecycle.pipeline.stage_error import StageFailedError
from tests.unit.lifecycle.pipeline.tables import daily

_SECONDS = 60.0


def clean(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table without rows that have no value."""
    return table.drop_nulls()


def weekly(table: pl.DataFrame) -> pl.DataFrame:
    """Return means by series."""
    return table.group_by("unique_id", maintain_order=True).agg(pl.col("y").mean())


def broken(table: pl.DataFrame) -> pl.DataFrame:
    """Fail."""
    raise ValueError("the column 'price' is missing")


def waiting(table: pl.DataFrame, gate: str) -> pl.DataFrame:
    """Return the table once a file is there."""
    end = time.monotonic() + _SECONDS
    while not Path(gate).exists() and time.monotonic() < end:
        time.sleep(0.02)
    return table


def report(table: pl.DataFrame, means: pl.DataFrame) -> dict[str, Any]:
    """Return how many rows there are."""
    return {"rows": table.height, "series": means.height}


class PipelineMaker:
    """A pipeline of four stages: one cleans, two depend on it, and the last one on both.

    Args:
        path: Its directory.
        middle: Function of the second stage.
        settings: Settings of it.
        name: Name of the second stage.
    """

    def __init__(self, path: Path, middle: Any = weekly, *, name: str = "means", **settings: Any) -> None:
        self.path = path
        self.pipeline = Pipeline(
            [
                stage(clean),
                stage(middle, name=name, outputs="means", inputs={"table": "clean.table"}, settings=settings),
                stage(weekly, name="check", outputs="checked", inputs={"table": "clean.table"}),
                stage(report, outputs="summary", inputs={"table": "clean.table", "means": f"{name}.means"}),
            ],
            data=daily(40),
            directory=path,
            on_error="continue",
            id="unique_id",
        )

    def run(self) -> PipelineMaker:
        """Run it; a stage that fails is what is wanted."""
        with suppress(StageFailedError):
            self.pipeline.run()
        return self

    def start(self) -> threading.Thread:
        """Run it in a thread."""
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        return thread
