"""Whether a function of a table looks at later rows: its values must stay when later rows are taken away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.lifecycle.pipeline.artifact import as_frame
from neuro_divergent.lifecycle.pipeline.series_table import SeriesTable

_TOLERANCE = 1e-9  # relative: sums over fewer rows may be added up in another order


def compute_causally(
    function: Callable[..., Any], label: str, table: SeriesTable, *, cutoffs: int, is_future: bool
) -> pl.DataFrame:
    """Return the new columns that a function computes, after checking that it does not look ahead.

    The function is called again on the table cut off after several times: each value of a row that is left must be the
    same. A covariate that is to be known ahead must not depend on later targets either: it is computed again with the
    targets and past covariates after the cut-off taken out, and must be the same in all rows.

    Args:
        function: Takes a polars table, sorted by series and time; returns a table or series with as many rows.
        label: What messages call it.
        table: The rows.
        cutoffs: How many times to cut off after.
        is_future: Whether the columns are to be known ahead.

    Raises:
        DataError: If a value changes, with the column, the series and the time.
        InputError: If it does not return as many rows, or no new column.
    """
    full = _call(function, label, table.frame)
    again = _call(function, label, table.frame)
    if row := _first_difference(full, again):
        raise DataError(
            f"feature function {label}: column {row[0]!r} differs from one call to the next; it must depend on the "
            "table only."
        )
    times = table.frame[table.schema.time]
    for cut in _cutoffs(times, cutoffs):
        before = times <= cut
        shorter = table.frame.filter(before)
        _compare(full.filter(before), _call(function, label, shorter), label, table.with_frame(shorter), cut)
        if is_future:
            unknown = [name for name in (table.schema.target, *table.schema.past) if name in table.frame.columns]
            hidden = table.frame.with_columns(pl.when(before).then(pl.col(name)).alias(name) for name in unknown)
            _compare(full, _call(function, label, hidden), label, table, cut)
    return full


def _call(function: Callable[..., Any], label: str, frame: pl.DataFrame) -> pl.DataFrame:
    returned = function(frame)
    made = returned.to_frame() if isinstance(returned, pl.Series) else as_frame(returned)
    made = made.select([name for name in made.columns if name not in frame.columns])
    if made.height != frame.height and made.width:
        raise InputError(
            f"feature function {label}: returned {made.height:,} rows for a table of {frame.height:,}; return one for "
            "each, in the same order."
        )
    if not made.width:
        raise InputError(f"feature function {label}: returned no new column.")
    return made


def _cutoffs(times: pl.Series, count: int) -> list[Any]:
    """Return times that are spread over the second to the last but one."""
    unique = times.unique().sort()
    if len(unique) < 2:
        return []
    places = np.unique(np.linspace(min(len(unique) // 5, len(unique) - 2), len(unique) - 2, count).round().astype(int))
    return [unique[int(place)] for place in places]


def _compare(full: pl.DataFrame, part: pl.DataFrame, label: str, table: SeriesTable, cut: Any) -> None:
    found = _first_difference(full, part)
    if found is None:
        return
    column, row = found
    values = [frame[column][row] if column in frame.columns else "absent" for frame in (full, part)]
    raise DataError(
        f"feature function {label}: column {column!r} sees the future: {table.label(row)}, "
        f"{table.frame[table.schema.time][row]}: {values[0]!r} with all rows, {values[1]!r} with those up to {cut}. "
        "Compute it from earlier rows, such as with shift and rolling windows of each series."
    )


def _first_difference(first: pl.DataFrame, second: pl.DataFrame) -> tuple[str, int] | None:
    """Return the column and row of the first difference between two tables."""
    for name in first.columns:
        if name not in second.columns:
            return name, 0
        one, two = first[name], second[name]
        if one.dtype.is_numeric() and two.dtype.is_numeric():
            a, b = (item.cast(pl.Float64).to_numpy() for item in (one, two))
            same = np.isclose(a, b, rtol=_TOLERANCE, atol=0, equal_nan=True)
        else:
            same = one.cast(pl.String).eq_missing(two.cast(pl.String)).to_numpy()
        if not same.all():
            return name, int(np.argmin(same))
    return None
