"""Several rows of one series and time become one, as the schema says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.data.cleaning.calendar import show, show_time
from neuro_divergent.data.cleaning.frequency import PIECE, pairs
from neuro_divergent.data.io.table import Table

if TYPE_CHECKING:
    from neuro_divergent.core.errors import DataError
    from neuro_divergent.data.layout import Layout
    from neuro_divergent.data.schema import Schema


def combine_duplicates(layout: Layout) -> Table:
    """Return a table with one row for each series and time, in the order in which they first appear.

    The first or last row is kept, by their order in the table; or the targets are replaced by their mean or sum,
    numeric covariates and weights by their mean, and everything else is that of the first row. Missing values do not
    count; where all are missing, so is the result.
    """
    table, schema = layout.table, layout.schema
    rows = np.arange(table.frame.height) if layout.order is None else layout.order.astype(np.int64)
    starts = np.flatnonzero(_begins(layout))
    ends = np.append(starts[1:], len(rows))
    kept = rows[ends - 1] if schema.duplicates == "last" else rows[starts]
    place = np.argsort(kept)
    frame = table.frame[kept[place]]
    if schema.duplicates in ("mean", "sum"):
        counts = ends - starts
        combined = [
            _combined(table.frame[name], rows, starts, counts, is_sum=is_sum)[place]
            for name, is_sum in _numeric(table.frame, schema)
        ]
        frame = frame.with_columns(combined)
    source = kept[place]
    source = source + table.rows if isinstance(table.rows, int) else table.rows[source]
    return dataclasses.replace(table, frame=frame, rows=source)


def duplicates_error(layout: Layout) -> DataError:
    """Return the error for rows that have the same series and time."""
    pieces = enumerate(pairs(layout.times, layout.offsets))
    found = np.concatenate(
        [np.setdiff1d((a == b).arg_true().to_numpy(), apart) + piece * PIECE for piece, (a, b, apart) in pieces]
    )
    first = int(found[0])
    rows = sorted((layout.row(first), layout.row(first + 1)))
    place = ": ".join(filter(None, [layout.label(int(layout.series(first))), show_time(layout.times, first)]))
    total = f"; {len(found)} such rows in all" if len(found) > 1 else ""
    message = f"{place} twice (rows {rows[0]}, {rows[1]})"
    if _repeats_an_hour(layout.times.gather(found)):
        cure = "Clocks are set back at such an hour: write the times in UTC or with their offset, as 02:30+01:00"
        return layout.table.error(f"{message}{total}. {cure}")
    difference = _difference(layout, found)
    if not difference:
        cure = 'Keep one row per series and time, or pass duplicates="first" (--duplicates first)'
        return layout.table.error(f"{message}, with the same values{total}. {cure}").offering(duplicates="first")
    cure = "Keep one row per series and time, or pass duplicates= (--duplicates): first, last, mean or sum"
    if layout.schema.id is None:
        cure += ". If a column names the series, pass it: id= (--id)"
    return layout.table.error(f"{message}, with other values{difference}{total}. {cure}").offering(duplicates="first")


def _begins(layout: Layout) -> Array:
    """Return which positions have another series or time than the one before."""
    begins = np.ones(len(layout.times), np.bool_)
    physical = layout.times.to_physical().to_numpy()
    begins[1:] = physical[1:] != physical[:-1]
    begins[layout.offsets[:-1]] = True
    return begins


def _numeric(frame: pl.DataFrame, schema: Schema) -> list[tuple[str, bool]]:
    """Return the columns that are combined, and whether by their sum."""
    weight = [schema.weight] if schema.weight else []
    names = [*weight, *(name for name in (*schema.past, *schema.future) if name not in schema.categorical)]
    found = [(schema.target, schema.duplicates == "sum"), *((name, False) for name in names)]
    return [(name, is_sum) for name, is_sum in found if name in frame.columns and frame.schema[name].is_numeric()]


def _combined(column: pl.Series, rows: Ints, starts: Ints, counts: Ints, *, is_sum: bool) -> pl.Series:
    values = column.cast(pl.Float64).to_numpy()[rows]
    single = values[starts]
    missing = np.isnan(values)
    sums = np.add.reduceat(np.where(missing, 0.0, values), starts)
    seen = counts - np.add.reduceat(missing, starts, dtype=np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(seen > 0, sums if is_sum else sums / seen, np.nan)
    return pl.Series(column.name, np.where(counts == 1, single, means))


def _difference(layout: Layout, found: Ints) -> str:
    """Return a value in which rows of the same series and time differ, or nothing where all are equal."""
    schema, differs = layout.schema, None
    for name in (schema.target, *schema.covariates, *([schema.weight] if schema.weight else [])):
        if name not in layout.table.frame.columns:
            continue
        column = layout.column(name)
        first, second = column.gather(found), column.gather(found + 1)
        other = first.ne_missing(second)
        if other[0]:
            return f" (column {name!r}: {show(first[0])}, {show(second[0])})"
        differs = differs or ("" if not other.any() else " elsewhere")
    return differs or ""


def _repeats_an_hour(times: pl.Series) -> bool:
    """Whether all of some times without a zone lie where clocks are set back: a Sunday night of autumn."""
    if not isinstance(times.dtype, pl.Datetime) or times.dtype.time_zone is not None:
        return False
    time = pl.first()
    night = (time.dt.weekday() == 7) & (time.dt.hour() < 4) & time.dt.month().is_in([3, 4, 9, 10, 11])
    return bool(times.to_frame().select(night.all()).item())
