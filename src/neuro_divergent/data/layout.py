"""The rows of a table in the order of a panel: series after series, ascending in time."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Ints, UInts32
from neuro_divergent.core.errors import DataWarning
from neuro_divergent.data.cleaning.calendar import (
    NO_HEADER,
    TRANSPOSED,
    check_calendar,
    check_times,
    holds_dates,
    holds_values,
    show,
)
from neuro_divergent.data.cleaning.categories import is_category
from neuro_divergent.data.cleaning.duplicates import combine_duplicates, duplicates_error
from neuro_divergent.data.cleaning.frequency import extremes, physical
from neuro_divergent.data.io.source import DEFAULT_ID, Table
from neuro_divergent.data.io.table import run_borders, show_type, take_rows
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.sort_order import sort_order

SAME_NAMES = " The columns of new rows must be named as those of the rows before."


@dataclass(frozen=True)
class Moved:
    """Rows that were not in time order within their series.

    Attributes:
        place: How messages call the first such series; nothing where there is only one without a name.
        rows: How many rows of it were moved.
        series: How many series were affected.
    """

    place: str
    rows: int
    series: int


@dataclass(frozen=True)
class Layout:
    """The rows of a table in the order of a panel: series after series, ascending in time.

    Attributes:
        table: The rows as they came.
        schema: The roles of the columns, with the name of the series column if there is one.
        ids: One value per series.
        offsets: Where each series begins, and the end.
        times: The time of each position.
        order: The row of the table at each position, or None where the table has that order already.
        spread: Smallest and largest step between neighbours of a series, as ``frequency.extremes`` gives them.
        moved: Which rows were out of time order, if any were.
    """

    table: Table
    schema: Schema
    ids: pl.Series
    offsets: Ints
    times: pl.Series
    order: UInts32 | None
    spread: tuple[int, int] | None
    moved: Moved | None = None

    def column(self, name: str) -> pl.Series:
        """Return a column of the table in the order of the panel."""
        column = self.table.frame[name]
        return column if self.order is None else column.gather(self.order)

    def row(self, position: int) -> int:
        """Return the row of the table that is at a position, counted from 1."""
        return self.table.row(position if self.order is None else int(self.order[position]))

    def earliest(self, positions: Any) -> int:
        """Return the one of some positions that comes first in the table."""
        return int(positions[0] if self.order is None else positions[np.argmin(self.order[positions])])

    def series(self, positions: Any) -> Any:
        """Return which series positions belong to."""
        return np.searchsorted(self.offsets, positions, side="right") - 1

    def label(self, series: int) -> str:
        """Return how messages call a series; nothing where there is only one without a name."""
        return label_series(self.schema, self.ids, series)

    def place(self, column: str, position: int, *, row: bool = False) -> str:
        """Return how messages begin: the column, the series and perhaps the row."""
        series, number = self.label(int(self.series(position))), f"row {self.row(position)}" if row else ""
        return ", ".join(filter(None, [f"column {column!r}", series, number]))


def label_series(schema: Schema, ids: pl.Series, series: int) -> str:
    """Return how messages call a series; nothing where there is only one without a name."""
    return "" if schema.id is None else f"series {show(ids[series])}"


def _resolve(table: Table, schema: Schema, *, is_new: bool) -> Schema:
    """Check that every column is there and name the series column if the table has the usual one."""
    found = table.frame.columns
    taken = (schema.time, schema.target, *([schema.weight] if schema.weight else []), *schema.covariates)
    if schema.id is None and DEFAULT_ID in found and DEFAULT_ID not in taken:
        schema = schema.replace(id=DEFAULT_ID)
    for name in (*([schema.id] if schema.id else []), *taken):
        if name not in found:
            raise table.lacks(name, _explain_role(name, table, schema, is_new=is_new))
    return schema


def _explain_role(name: str, table: Table, schema: Schema, *, is_new: bool) -> str:
    """Return how to name the columns that have a role, or what to do with a wide table; roles of new rows are given."""
    roles = {"time": schema.time, "target": schema.target, "id": schema.id}
    if name not in roles.values():
        return ""
    if holds_dates(table.columns):
        return TRANSPOSED
    if is_new:
        return SAME_NAMES
    if holds_values(table.columns):
        return NO_HEADER
    found = set(table.columns)
    lost = ", ".join(f"{role}= (--{role})" for role, column in roles.items() if column and column not in found)
    cure = f" Say which it is: {lost}"
    may_have_id = len(found) > 2 and schema.id is None and DEFAULT_ID not in found
    if may_have_id:
        cure += "; and id= (--id) if a column names the series"
    if may_have_id and not schema.wide:
        cure += ". If each column is a series, pass wide=True (--wide)"
    return f"{cure}."


def lay_out(table: Table, schema: Schema, *, is_resolved: bool = False, is_new: bool = False) -> Layout:
    """Check names and times of a table and put its rows in the order of a panel.

    ``is_resolved`` says that the schema names the series column and that every column is there which is needed later;
    ``is_new`` says that the rows are new ones for a schema that is known, as that of a trained model.

    Raises:
        DataError: If a column is missing, or names or times cannot be used.
    """
    schema = schema if is_resolved else _resolve(table, schema, is_new=is_new)
    times = check_times(table.frame[schema.time], table.error, table.date_format, table.row)
    order = codes = None
    if schema.id is None:
        names, offsets = pl.Series(DEFAULT_ID, [schema.target]), np.array([0, len(times)])
    else:
        names = _check_names(table, schema.id)
        offsets = run_borders(names)
        firsts = _sortable(take_rows(names, offsets[:-1]))
        if firsts.n_unique() < len(firsts) or not firsts.is_sorted():
            codes = _codes(names)
            order = sort_order(codes).astype(np.uint32)
            offsets = run_borders(pl.Series(codes[order]))
    layout = _ordered(table, schema, names, offsets, times, order)
    if layout.spread and layout.spread[0] < 0:
        ascending = sort_order(physical(times)).astype(np.uint32)
        if schema.id is not None:
            # Rows that are in the order of their series are numbered by it.
            codes = series_numbers(offsets) if codes is None else codes
            ascending = ascending[sort_order(codes[ascending])]
        layout = _ordered(table, schema, names, offsets, times, ascending)
    if layout.spread and layout.spread[0] == 0:
        if schema.duplicates == "error":
            raise duplicates_error(layout)
        return lay_out(combine_duplicates(layout), schema, is_resolved=True)
    check_calendar(schema.calendar, layout.times.dtype, schema.time)
    if layout.order is not order:
        moved = _moved(layout, np.arange(len(times)) if order is None else order)
        layout = dataclasses.replace(layout, moved=moved)
    return layout


def _ordered(
    table: Table, schema: Schema, names: pl.Series, offsets: Ints, times: pl.Series, order: UInts32 | None
) -> Layout:
    rows = offsets[:-1] if order is None else order[offsets[:-1]]
    ids = names if schema.id is None else take_rows(names, rows)
    times = times if order is None else times.gather(order)
    return Layout(table, schema, ids, offsets, times, order, extremes(times, offsets))


def _check_names(table: Table, column: str) -> pl.Series:
    names = table.frame[column]
    if not (names.dtype.is_integer() or is_category(names.dtype)):
        raise table.error(f"column {column!r} is {show_type(names.dtype)}; series are named by text or integers")
    if missing := names.null_count():
        row = table.row(int(names.is_null().arg_true()[0]))
        raise table.error(f"column {column!r}: {missing} missing, first row {row}; every row needs a series")
    return names


def _sortable(names: pl.Series) -> pl.Series:
    return names if names.dtype.is_integer() else names.cast(pl.String)  # Categories sort by text, not by code.


def series_numbers(offsets: Ints) -> Array:
    """Return for each row the number of its series, of 16 bits where possible."""
    count = len(offsets) - 1
    return np.repeat(np.arange(count, dtype=np.uint16 if count <= 2**16 else np.uint32), np.diff(offsets))


def _codes(names: pl.Series) -> Array:
    """Return integers that sort like the names; of 16 bits where possible, which numpy sorts much faster."""
    names = _sortable(names)
    if names.dtype == pl.String:
        names = names.cast(pl.Enum(names.unique().sort())).to_physical()
    low, high = int(names.min()), int(names.max())  # type: ignore[arg-type]
    numbers = names.to_numpy()
    return (numbers.astype(np.int64) - low).astype(np.uint16) if abs(low) < 2**62 and high - low < 2**16 else numbers


def _moved(layout: Layout, given: Array) -> Moved:
    """Return which rows are not in time order within their series; the order of the series does not matter."""
    counts = np.add.reduceat(layout.order != given, layout.offsets[:-1], dtype=np.int64)
    moved = np.flatnonzero(counts)
    return Moved(layout.label(int(moved[0])), int(counts[moved[0]]), len(moved))


def warn_reordered(moved: Moved, table: Table, schema: Schema) -> None:
    """Warn about rows that were out of time order, or refuse them where the schema is strict."""
    place = f"{moved.place}: " if moved.place else ""
    others = f"; {moved.series} series affected" if moved.place else ""
    message = f"{place}{moved.rows} rows were out of time order"
    if schema.strict:
        raise table.error(f"{message}{others}; strict=True (--strict) allows none")
    warnings.warn(table.describe(f"{message} and are sorted{others}"), DataWarning, stacklevel=4)
