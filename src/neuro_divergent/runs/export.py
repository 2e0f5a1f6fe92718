"""Runs as tables for other programs: a row for each with its settings and scores, or all their histories.

Nothing here needs torch.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.runs.diff import flatten_config, read_config, read_scores
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.runs.status import describe_run

_FIELDS = ("state", "message", "step", "total_steps", "time", "data", "metric", "best")


def table_of_runs(names: Sequence[str], runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return a row for each run: its name and path, where it stands, its scores, and its settings by dotted names."""
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


def write_table(table: pl.DataFrame | Sequence[dict[str, Any]], path: Path) -> None:
    """Write a table to a ``.csv``, ``.parquet`` or ``.json`` file.

    A column of rows that do not agree on a type becomes text; lists are written as JSON. A JSON file is a list with an
    object for each row, each value as it is; numbers that are not finite, which JSON does not have, are ``null``.

    Raises:
        InputError: If the name ends otherwise.
        StorageError: If the disk refuses; the file is then as it was.
    """
    buffer = io.BytesIO()
    kind = path.suffix.lower()
    if kind == ".json":
        rows = table.to_dicts() if isinstance(table, pl.DataFrame) else table
        plain = [{key: _json_value(value) for key, value in row.items()} for row in rows]
        buffer.write((json.dumps(plain, indent=1, allow_nan=False) + "\n").encode())
    elif kind == ".csv":
        _as_frame(table).write_csv(buffer)
    elif kind == ".parquet":
        _as_frame(table).write_parquet(buffer)
    else:
        raise InputError(f"{path}: write a table to a .csv, .parquet or .json file.")
    write_file(path, buffer.getvalue())


def _as_frame(table: pl.DataFrame | Sequence[dict[str, Any]]) -> pl.DataFrame:
    if isinstance(table, pl.DataFrame):
        return table
    names = dict.fromkeys(name for row in table for name in row)
    return pl.DataFrame([_column(name, [row.get(name) for row in table]) for name in names])


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return values in the narrowest type that has room for all of them."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return pl.Series(name, values, pl.Boolean)
    if known and all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in known):
        return pl.Series(name, values, pl.Int64)
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return pl.Series(name, [None if value is None else _as_float(value) for value in values], pl.Float64)
    return pl.Series(name, [_as_text(value) for value in values], pl.String)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
