"""Columns of a table as the arrays that figures are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.io.source import DEFAULT_ID, read_table

RESIDUAL = "residual"


def read_columns(source: Any, needed: Sequence[str], what: str) -> pl.DataFrame:
    """Return what ``read_table`` reads as polars, with the columns ``needed``; messages call the table ``what``."""
    if source is None:
        raise InputError(f"{what}: there is none.")
    frame = read_table(source).frame
    if missing := [name for name in needed if name not in frame.columns]:
        raise InputError(f"{what}: there is no column {missing[0]!r}; it has {', '.join(map(repr, frame.columns))}.")
    return frame


def floats_of(column: pl.Series) -> Array:
    """Return numbers, NaN where there is none or one that is not finite."""
    values = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def places_of(column: pl.Series) -> Array:
    """Return places along an axis: times as ``datetime64`` of the clock they were written with, or numbers."""
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        return column.dt.replace_time_zone(None).cast(pl.Datetime("us")).to_numpy()
    return column.to_numpy() if dtype == pl.Date else floats_of(column)


def id_of(frame: pl.DataFrame, named: str | None) -> str | None:
    """Return the column that names the series, or ``None`` if there is but one series."""
    if named is None:
        return DEFAULT_ID if DEFAULT_ID in frame.columns else None
    if named not in frame.columns:
        raise InputError(f"id: there is no column {named!r}; there are {', '.join(map(repr, frame.columns))}.")
    return named


def read_residuals(backtest: Any, *, model: str = "forecast", also: Sequence[str] = ()) -> pl.DataFrame:
    """Return the rows of a backtest whose value was observed and forecast, with the difference as ``residual``.

    The columns in ``also`` must be there, and have a value, too.
    """
    frame = read_columns(backtest, ("actual", model, *also), "backtest")
    residual = pl.col("actual").cast(pl.Float64, strict=False) - pl.col(model).cast(pl.Float64, strict=False)
    frame = frame.with_columns(residual.alias(RESIDUAL)).filter(pl.col(RESIDUAL).is_finite())
    frame = frame.drop_nulls(list(also)) if also else frame
    if not frame.height:
        raise InputError("backtest: no value was both observed and forecast, so there are no errors to show.")
    return frame


def pivot(
    frame: pl.DataFrame, row: str, rows: Sequence[Any] | pl.Series, column: str, columns: pl.Series, value: str
) -> Array:
    """Return values as a matrix of rows in a given order and columns in rising order, NaN where a pair has none."""
    places = {name: place for place, name in enumerate(rows)}
    values = np.full((len(rows), len(columns)), np.nan)
    cells = [places[name] for name in frame[row]], columns.search_sorted(frame[column]).to_numpy()
    values[cells] = floats_of(frame[value])
    return values


def segments(kinds: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Return begin and end of each run of neighbours of the same kind, so that marks of each kind keep the order."""
    begin = 0
    for _, group in groupby(kinds):
        end = begin + len(list(group))
        yield begin, end
        begin = end
