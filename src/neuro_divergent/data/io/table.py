"""Rows as they came, and how messages talk about them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.errors import DataError, did_you_mean
from neuro_divergent.data.schema import DateFormat

Backend = Literal["polars", "pandas", "pyarrow"]

IN_MEMORY = "data"
_SHOWN = 20
_CACHED = 1 << 16  # Rows that stay in the cache of a processor; a column in several pieces is then copied cheaply.
_COMPARED = 1000  # Looking for a similar name among more of them takes longer than it helps.


@dataclass(frozen=True)
class Table:
    """Rows as they were read, with what error messages need.

    Attributes:
        frame: The requested columns that exist, or all of them.
        name: The file or pattern as it was given, or ``"data"`` for a frame.
        backend: The library the frame came from, which is also what forecasts are returned in.
        columns: Names of all columns of the source, also of those that were not read.
        guessed: Whether types were inferred from the values, as for a CSV file.
        date_format: How the times are written where they are not in ISO 8601.
        has_points: Whether numbers that share a column with text were turned into text, with a decimal point whatever
            mark the texts have.
        note: What else a message about a missing column should say, such as which sheet was read.
        rows: The row of the source that each row is, counted from 0, where these are only some of its rows; the first
            one where they are consecutive.
    """

    frame: pl.DataFrame
    name: str = IN_MEMORY
    backend: Backend = "polars"
    columns: tuple[str, ...] = ()
    guessed: bool = False
    date_format: DateFormat | None = None
    has_points: bool = False
    note: str = ""
    rows: Ints | int = 0

    def row(self, index: int) -> int:
        """Return how messages number a row: by its place in the source, counted from 1."""
        return 1 + (index + self.rows if isinstance(self.rows, int) else int(self.rows[index]))

    def describe(self, message: str) -> str:
        """Return an error whose message names the file; a frame in memory has no name."""
        return describe(self.name, message)

    def with_frame(self, frame: pl.DataFrame) -> Table:
        """Return other rows of the same table."""
        return dataclasses.replace(self, frame=frame)

    def error(self, message: str) -> DataError:
        """Return an error about this table."""
        return DataError(self.describe(message))

    def lacks(self, column: str, cure: str = "") -> DataError:
        """Return the error for a column that is not there; ``cure`` says what to do where no name is similar."""
        names = [show_name(name) for name in self.columns[:_SHOWN]]
        found = ", ".join(names) + (", ..." if len(self.columns) > _SHOWN else "")
        close = did_you_mean(column, [name for name in self.columns[:_COMPARED] if len(name) < 100])
        return self.error(f"column {column!r} missing; found {found}.{close or cure}{self.note}")


def describe(name: str, message: str) -> str:
    """Prefix a message with the name of a file; a table in memory has none."""
    return message if name == IN_MEMORY else f"{name}: {message}"


def take_rows(column: pl.Series, rows: Array) -> pl.Series:
    """Return the values at some rows, counted from 0.

    ``Series.gather`` does the same by a query, which takes three times as long for few rows.
    """
    return column.slice(int(rows[0]), 1) if len(rows) == 1 else column[rows]


def run_borders(names: pl.Series) -> Ints:
    """Return where runs of equal names begin, and the end; slices of one column need no memory."""
    if not names.dtype.is_integer() or names.null_count():
        changes = np.flatnonzero((names.slice(1) != names.slice(0, len(names) - 1)).to_numpy())
        return np.concatenate([[0], changes + 1, [len(names)]])
    found = [np.zeros(1, np.int64)]
    for begin in range(0, len(names) - 1, _CACHED):
        numbers = names.slice(begin, _CACHED + 1).to_numpy()
        found.append(np.flatnonzero(numbers[1:] != numbers[:-1]) + begin + 1)
    return np.concatenate([*found, [len(names)]])


def show_name(name: str) -> str:
    """Return the name of a column as it should appear in a list: quoted only where it would be mistaken otherwise."""
    return name if name.isprintable() and 0 < len(name) <= 60 else repr(name)[:60]


def show_type(dtype: pl.DataType) -> str:
    """Return the name of a type as it should appear in a message."""
    if isinstance(dtype, pl.Datetime):
        return f"Datetime[{', '.join(filter(None, [dtype.time_unit, dtype.time_zone]))}]"
    return str(dtype)


def first_line(error: BaseException) -> str:
    """Return the message of an error of another library, shortened to one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
