"""Writes tables as CSV, Parquet or JSON files."""

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
from neuro_divergent.core.storage.strict_json import finite_or_none


def write_table(path: Path, table: pl.DataFrame | Sequence[dict[str, Any]]) -> Path:
    """Write a table to a ``.csv``, ``.parquet`` or ``.json`` file, complete or not at all; return the path.

    A column of rows that do not agree on a type becomes text; lists are written as JSON. A JSON file is a list with an
    object for each row, each value as it is; numbers that are not finite, which JSON does not have, are ``null``.

    Raises:
        InputError: If the name ends otherwise.
        StorageError: If the disk refuses; the file is then as it was.
    """
    buffer = io.BytesIO()
    kind = path.suffix.lower()
    if kind == ".json":
        rows = finite_or_none(table.to_dicts() if isinstance(table, pl.DataFrame) else list(table))
        buffer.write((json.dumps(rows, indent=1, allow_nan=False) + "\n").encode())
    elif kind == ".csv":
        _as_frame(table).write_csv(buffer)
    elif kind == ".parquet":
        _as_frame(table).write_parquet(buffer)
    else:
        raise InputError(f"{path}: write a table to a .csv, .parquet or .json file.")
    write_file(path, buffer.getvalue())
    return path


def check_table_name(path: Path) -> None:
    """Refuse file names without a known extension."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{path}: write forecasts to a .csv or a .parquet file.")


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
