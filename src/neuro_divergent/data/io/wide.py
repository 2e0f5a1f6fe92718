"""Wide tables: one column per series, named by its header, turned into one row per series and time."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints, UInts32
from neuro_divergent.core.errors import DataWarning
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.data.cleaning.calendar import TRANSPOSED, check_times, holds_dates
from neuro_divergent.data.cleaning.numbers import NumberStyle, explain_number, floats
from neuro_divergent.data.io.number_columns import clear_texts, read_decimal_commas, read_numbers
from neuro_divergent.data.io.table import Table, show_name
from neuro_divergent.data.schema import Schema

DEFAULT_ID = "unique_id"
_NAMED = 5  # columns that a message lists
_ROW_BYTES = 48  # that a row of the long table takes while it is made


def to_long(table: Table, schema: Schema) -> Table:
    """Return a wide table with one row for each series and time.

    A series begins with its first value and ends with its last one. Columns without any number are left out, with a
    ``DataWarning``. A table that has the columns of series and target is long already and is returned as it is.

    Args:
        table: All columns of the source.
        schema: The roles of the columns: times, and the covariates and weights that all series share.

    Raises:
        DataError: If a column that should be a series holds text among numbers, or if no series is there.
    """
    id_column = schema.id or DEFAULT_ID
    if id_column in table.frame.columns:
        if schema.target in table.frame.columns:
            return read_numbers(table, schema)
        raise table.error(
            f"column {id_column!r}: a wide table has one column per series and none with their names. Leave wide=True "
            "(--wide) out, or pass another name for the column of the forecasts: id= (--id)"
        )
    time = time_column(table, schema)
    if holds_dates([name for name in table.frame.columns if name != time]):
        raise table.error(f"column {time!r} is followed by dates.{TRANSPOSED}")
    shared = [name for name in dict.fromkeys((*schema.past, *schema.future, schema.weight)) if name]
    for name in shared:
        if name not in table.frame.columns:
            raise table.lacks(name)
    table = table.with_frame(table.frame.with_columns(clear_texts(table.frame, schema)))
    times = check_times(table.frame[time], table.error, schema.date_format, table.row).alias(schema.time)
    names = [name for name in table.frame.columns if name not in (time, *shared)]
    numbers = [name for name in shared if name not in schema.categorical]
    style = _style(table, [*names, *numbers], schema)
    columns = _series(table, names, style, schema)
    if table.guessed or not style.is_plain:
        texts = [table.frame[name] for name in numbers if table.frame.schema[name] == pl.String]
        table = table.with_frame(table.frame.with_columns(floats(text, style) for text in texts))
    return _stack(table, columns, times, shared, schema)


def time_column(table: Table, schema: Schema) -> str:
    """Return the column of the times: the one that is named so or, without one, the first."""
    names = table.frame.columns
    if schema.time in names or schema.time != Schema.model_fields["time"].default:
        if schema.time not in names:
            raise table.lacks(schema.time)
        return schema.time
    return names[0]


def _style(table: Table, names: list[str], schema: Schema) -> NumberStyle:
    """Return how the numbers of some columns are written, guessing decimal commas as for a long table."""
    style, frame = NumberStyle.of(schema, has_points=table.has_points), table.frame
    texts = frame.select(name for name in names if frame.schema[name] == pl.String)
    if table.guessed and NumberStyle.is_open(schema) and any(floats(column, style) is column for column in texts):
        style, notice = read_decimal_commas(texts, style, table.error, strict=schema.strict)
        if notice:
            warnings.warn(table.describe(notice), DataWarning, stacklevel=5)
    return style


def _series(table: Table, names: list[str], style: NumberStyle, schema: Schema) -> list[pl.Series]:
    """Return the columns that are series, as numbers, NaN where a value is missing."""
    frame = table.frame
    columns, others = [], []
    for name in names:
        column = frame[name]
        if column.dtype == pl.String and (table.guessed or not style.is_plain):
            column = _numbers(table, column, style)
        if not (column.dtype.is_numeric() or column.dtype == pl.Decimal):
            others.append(name)
            continue
        column = column.cast(pl.Float64).fill_nan(None)
        if column.null_count() < len(column):
            columns.append(column)
        elif not name.startswith("column "):  # of a header that is empty: a separator at the end of each line
            others.append(name)
    if others:
        shown = ", ".join(show_name(name) for name in others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        message = f"{'columns' if len(others) > 1 else 'column'} {shown} without numbers"
        if not columns or schema.strict:
            raise table.error(f"{message}; with wide=True (--wide) each column but the time and covariates is a series")
        warnings.warn(table.describe(f"{message} left out: no series"), DataWarning, stacklevel=5)
    if not columns:
        raise table.error("there are no columns but the time and the covariates, so there is no series")
    return columns


def _numbers(table: Table, column: pl.Series, style: NumberStyle) -> pl.Series:
    """Return numbers, or the text where none of it is one."""
    numbers = floats(column, style)
    if numbers is not column:
        return numbers
    wrong = style.find_wrong(column)
    if wrong.sum() == len(column) - style.clear(column).null_count():
        return column
    row = int(wrong.arg_true()[0])
    text = str(column[row])
    place = f"row {table.row(row)}, column {column.name!r}"
    cure = explain_number(text, style)
    raise table.error(f"{place}: {text[:60]!r} is not a number{cure.text}").offering(**cure.changes)


def _stack(table: Table, columns: list[pl.Series], times: pl.Series, shared: list[str], schema: Schema) -> Table:
    needed = len(columns) * len(times) * (_ROW_BYTES + 8 * len(shared)) / 2**30
    if needed > memory_limit():
        raise table.error(
            f"{len(columns):,} series of {len(times):,} rows need {needed:.2f} GiB as a long table, limit "
            f"{memory_limit():.2f} GiB, the memory"
        )
    values: list[pl.Series] = []
    places: list[Ints] = []
    names: list[UInts32] = []
    for column in columns:
        rows = _rows_between(column, times)
        values.append(column.alias(schema.target) if rows is None else column.gather(rows).alias(schema.target))
        places.append(np.arange(len(column)) if rows is None else rows)
        names.append(np.full(len(places[-1]), len(names), np.uint32))
    rows = np.concatenate(places)
    ids = pl.Series(schema.id or DEFAULT_ID, [column.name for column in columns]).gather(np.concatenate(names))
    others = [table.frame[name].gather(rows) for name in shared]
    frame = pl.DataFrame([ids, times.gather(rows), pl.concat(values), *others])
    source = rows + table.rows if isinstance(table.rows, int) else table.rows[rows]
    return dataclasses.replace(table, frame=frame, columns=tuple(frame.columns), rows=source, note="")


def _rows_between(column: pl.Series, times: pl.Series) -> Ints | None:
    """Return the rows from the first to the last time at which a series has a value; ``None`` where that is all."""
    observed = column.is_not_null()
    if observed.all():
        return None
    physical = times.to_physical()
    seen = physical.filter(observed)
    rows: Ints = ((physical >= seen.min()) & (physical <= seen.max())).arg_true().to_numpy().astype(np.int64)
    return rows
