"""Rows of a source: the columns that have a role, one row per series and time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.source import DEFAULT_ID, columns_of, read_table
from neuro_divergent.data.schema import Schema


def read_rows(paths: Sequence[str], schema: Schema) -> pl.DataFrame:
    """Read files; where two have a row of the same series and time, the one of the later name counts."""
    frames = [normalize_rows(path, schema, path) for path in paths]
    widest = max(frames, key=lambda frame: frame.width)
    for path, frame in zip(paths, frames, strict=True):
        if lost := [name for name in widest.columns if name not in frame.columns]:
            raise DataError(f"{path}: column {lost[0]!r} missing, which other files have")
    rows = pl.concat([frame.select(widest.columns) for frame in frames], how="vertical_relaxed")
    return rows.unique(keys_of(schema), keep="last", maintain_order=True)


def normalize_rows(source: Any, schema: Schema, place: str) -> pl.DataFrame:
    """Return a table with parsed times and a target of floats; of several rows with the same key the last one.

    Raises:
        DataError: If a column is missing or of a wrong kind.
    """
    table = dataclasses.replace(read_table(source, schema), name=place)
    frame = table.frame
    needed = [schema.time, schema.target, *schema.covariates, *([schema.id] if schema.id else [])]
    if lost := [column for column in needed if column not in frame.columns]:
        raise table.lacks(lost[0])
    frame = frame.select(name for name in columns_of(schema) if name in frame.columns)
    times = check_times(frame[schema.time], table.error, schema.date_format)
    if isinstance(times.dtype, pl.Datetime):
        times = times.dt.cast_time_unit("us")
    frame = frame.with_columns(times)
    if not frame[schema.target].dtype.is_numeric():
        raise table.error(f"column {schema.target!r} is {frame[schema.target].dtype}, not numbers")
    frame = frame.with_columns(pl.col(schema.target).cast(pl.Float64).fill_nan(None))
    if id_of(schema) not in frame.columns:
        frame = frame.insert_column(0, pl.lit(schema.target).alias(id_of(schema)))
    return frame.unique(keys_of(schema), keep="last", maintain_order=True)


def id_of(schema: Schema) -> str:
    """Return the column that names the series; a table without one is a single series called like the target."""
    return schema.id or DEFAULT_ID


def keys_of(schema: Schema) -> list[str]:
    """Return the columns that name a row."""
    return [id_of(schema), schema.time]
