"""Runs as tables for other programs: a row for each with its settings and scores, or all their histories.

Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.runs.diff import flatten_config, read_config, read_scores
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.runs.status import describe_run

_FIELDS = ("state", "message", "step", "total_steps", "time", "data", "metric", "best")


def table_of_runs(names: Sequence[str], runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return a row for each run: its name, path, state and scores, and its settings by dotted names."""
    rows = []
    for name, path in zip(names, runs, strict=True):
        run = describe_run(path)
        known = {field: getattr(run, field) for field in _FIELDS}
        settings = flatten_config(read_config(path))
        rows.append({"run": name, "path": str(path), **known, **read_scores(path), **settings})
    return rows


def table_of_histories(names: Sequence[str], runs: Sequence[Path]) -> pl.DataFrame:
    """Return the histories of runs below each other, with the name of the ``run`` in the first column."""
    frames = [
        read_history(path).select(pl.lit(name).alias("run"), pl.all()) for name, path in zip(names, runs, strict=True)
    ]
    return pl.concat(frames, how="diagonal")
