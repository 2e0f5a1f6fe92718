"""Rows of many files as one table that is read in slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import check_times, show
from neuro_divergent.data.cleaning.categories import is_category, learn_categories
from neuro_divergent.data.cleaning.numbers import NumberStyle, explain_number, find_decimal_commas
from neuro_divergent.data.io.parquet_file import PROBLEMS, check_parquet
from neuro_divergent.data.io.source import DEFAULT_ID, columns_of
from neuro_divergent.data.io.table import Table, first_line, show_type
from neuro_divergent.data.schema import Schema


@dataclass(frozen=True)
class RowFile:
    """One file of rows.

    Attributes:
        path: Where it is.
        name: How messages call it: the file it was made from, where it was made from one.
        rows: How many rows it has.
        types: Types of the columns that have a role.
        columns: Names of all its columns.
        guessed: Whether the types were inferred from the values.
    """

    path: str
    name: str
    rows: int
    types: dict[str, pl.DataType]
    columns: tuple[str, ...]
    guessed: bool = False

    def scan(self) -> pl.LazyFrame:
        """Return the rows, not read yet."""
        return pl.scan_parquet(self.path, glob=False)


def open_parquet(path: str, schema: Schema) -> RowFile:
    """Return a Parquet file whose header was checked.

    Raises:
        DataError: If it is damaged.
    """
    header = check_parquet(path, columns_of(schema))
    try:
        found = pl.scan_parquet(path, glob=False).collect_schema()
    except PROBLEMS as error:
        raise DataError(f"{path}: not a complete Parquet file ({first_line(error)})") from None
    wanted = columns_of(schema)
    types = {name: dtype for name, dtype in found.items() if name in wanted}
    return RowFile(path, path, header.rows, types, header.columns)


class Rows:
    """The rows of files one after another, with one type for each column; times are read where they are text.

    Args:
        files: At least one.
        name: How messages call the table: the path or pattern as it was given.
        schema: The roles of the columns.

    Raises:
        DataError: If the files do not fit together, have no rows, or if a column cannot have its role.
    """

    def __init__(self, files: Sequence[RowFile], name: str, schema: Schema) -> None:
        self.files = [file for file in files if file.rows]
        self.name = name
        self.columns = files[0].columns
        self.guessed = files[0].guessed
        self.types = _merge(files, name)
        taken = (schema.time, schema.target, *([schema.weight] if schema.weight else []), *schema.covariates)
        usual = DEFAULT_ID if DEFAULT_ID in self.types and DEFAULT_ID not in taken else None
        self.id = schema.id or usual
        self.schema = schema.replace(id=self.id)
        self.types = {name: dtype for name, dtype in self.types.items() if name in (self.id, *taken)}
        self.begins = np.concatenate([[0], np.cumsum([file.rows for file in self.files], dtype=np.int64)])
        if not self.files:
            raise DataError(f"{name}: no data rows")
        for column in (*([self.id] if self.id else []), *taken):
            if column not in self.types:
                raise self.table(pl.DataFrame()).lacks(column)
        self._first_time: pl.Series | None = None
        self._check_types()

    def __len__(self) -> int:
        return int(self.begins[-1])

    @cached_property
    def time_type(self) -> pl.DataType:
        """Type of the times when they are read."""
        return self.read(0, 1, [self.schema.time]).schema[self.schema.time]

    @property
    def row_bytes(self) -> int:
        """About how many bytes a row takes while it is read."""
        return sum(32 if dtype == pl.String else 8 for dtype in self.types.values())

    @property
    def run_bytes(self) -> int:
        """About how many bytes a row takes on disk while rows are sorted."""
        return 8 + 4 * (len(self.types) - 1)

    def table(self, frame: pl.DataFrame, first: int = 0) -> Table:
        """Return rows as a table whose messages number them from the beginning of the first file."""
        return Table(frame, self.name, columns=self.columns, guessed=self.guessed, rows=first)

    def read(self, begin: int, count: int, only: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows from ``begin`` on, with times that are not text."""
        end = min(begin + count, len(self))
        names = list(only or self.types)
        first, last = np.searchsorted(self.begins, [begin, end - 1], side="right") - 1
        frames = []
        for number in range(int(first), int(last) + 1):
            file, offset = self.files[number], int(self.begins[number])
            low, high = max(begin - offset, 0), min(end - offset, file.rows)
            try:
                frames.append(file.scan().select(self._casts(names)).slice(low, high - low).collect())
            except PROBLEMS as error:
                raise DataError(f"{file.name}: cannot be read ({first_line(error)})") from None
            if frames[-1].height != high - low:
                raise DataError(f"{file.name}: has fewer rows than when it was opened; did it change?")
        frame = frames[0] if len(frames) == 1 else pl.concat(frames)
        time = self.schema.time
        return frame.with_columns(self._read_times(frame[time], begin)) if time in names else frame

    def batches(
        self, size: int, begin: int = 0, only: Sequence[str] | None = None
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield all rows from one on: the first row of each piece, and the piece."""
        for place in range(begin, len(self), size):
            yield place, self.read(place, size, only)

    def learn_categories(self) -> dict[str, list[object]]:
        """Return the values of each categorical column, sorted.

        Raises:
            DataError: If numbers and text are mixed in a column whose type was inferred.
        """
        chosen = [
            name
            for name in dict.fromkeys(self.schema.covariates)
            if is_category(self.types[name]) or name in self.schema.categorical
        ]
        found: dict[str, list[object]] = {}
        for name in chosen:
            values = []
            for file in self.files:
                unique = file.scan().select(self._casts([name])).select(pl.col(name).unique())
                try:
                    values.append(unique.collect(engine="streaming").to_series())
                except PROBLEMS as error:
                    raise DataError(f"{file.name}: cannot be read ({first_line(error)})") from None
            together = pl.concat(values).unique()
            if together.dtype == pl.String and self.guessed and name not in self.schema.categorical:
                self._refuse_mixture(name, together)
            found[name] = learn_categories(together)
        return found

    def _casts(self, names: Sequence[str]) -> list[pl.Expr]:
        return [pl.col(name).cast(self.types[name]) for name in names]

    def _check_types(self) -> None:
        """Refuse types that cannot be what their role asks for, and choose those that are read."""
        table, schema = self.table(pl.DataFrame()), self.schema
        for name, dtype in self.types.items():
            if name == self.id:
                if is_category(dtype):
                    self.types[name] = pl.String()  # Categories of different slices do not fit together.
                elif not dtype.is_integer():
                    raise table.error(f"column {name!r} is {show_type(dtype)}; series are named by text or integers")
            elif name == schema.time:
                if not (dtype.is_integer() or dtype in (pl.String, pl.Date, pl.Datetime)):
                    raise table.error(
                        f"column {name!r} is {show_type(dtype)}; accepted are dates, datetimes and integers"
                    )
            elif dtype == pl.Decimal or dtype == pl.Null:
                self.types[name] = pl.Float64()
            elif is_category(dtype) and name in schema.covariates:
                self.types[name] = pl.String()
            elif not (dtype.is_numeric() or dtype == pl.Boolean):
                if dtype == pl.String:
                    self._refuse_text(name)
                what = "categories are text, integers or booleans" if name in schema.categorical else ""
                what = what or "numbers are needed, so convert it first"
                raise table.error(f"column {name!r} is {show_type(dtype)}; {what}")

    def _refuse_text(self, name: str) -> None:
        """Refuse the first value of a column that is not a number."""
        style = NumberStyle.of(self.schema)
        for begin, frame in self.batches(1 << 18, only=[name]):
            column = frame[name]
            wrong = style.find_wrong(column).arg_true()
            if len(wrong):
                place = f"row {begin + int(wrong[0]) + 1}, column {name!r}"
                text = str(column[int(wrong[0])])
                cure = explain_number(text, style)
                error = self.table(frame).error(f"{place}: {show(text)} is not a number{cure.text}")
                raise error.offering(**cure.changes)

    def _refuse_mixture(self, name: str, values: pl.Series) -> None:
        """Refuse text among numbers in a column with inferred types: it is more often an error than a category."""
        texts, style = values.drop_nulls(), NumberStyle.of(self.schema)
        if find_decimal_commas([texts], style) is None and style.parse(texts).null_count() == len(texts):
            return
        for begin, frame in self.batches(1 << 18, only=[name]):
            column = frame[name]
            wrong = style.find_wrong(column).arg_true()
            if len(wrong):
                first = int(wrong[0])
                cure = explain_number(str(column[first]), style)
                error = self.table(frame).error(
                    f"row {begin + first + 1}, column {name!r}: {show(column[first])} is not a number; list the column "
                    f"as categorical (--categorical) if it holds categories{cure.text}"
                )
                raise error.offering(**cure.changes)

    def _read_times(self, times: pl.Series, begin: int) -> pl.Series:
        """Return times that are not text: all are written like the first one of the table."""
        date_format = self.schema.date_format
        if times.dtype != pl.String and (date_format is None or not times.dtype.is_integer()):
            return times
        error = self.table(pl.DataFrame()).error
        if date_format is not None:
            return check_times(times, error, date_format, lambda row: begin + row + 1)
        if self._first_time is None:
            self._first_time = self._find_first_time()
        both = pl.concat([self._first_time, times])
        return check_times(both, error, None, lambda row: begin + row if row else 1).slice(1)

    def _find_first_time(self) -> pl.Series:
        """Return the first time of the table, which may not be missing."""
        name, file = self.schema.time, self.files[0]
        head = file.scan().select(pl.col(name).cast(pl.String)).head(1).collect().to_series()
        if head.null_count():
            raise self.table(pl.DataFrame()).error(f"column {name!r}: missing in row 1; every row needs a time")
        return head


def _merge(files: Sequence[RowFile], name: str) -> dict[str, pl.DataType]:
    """Return one type for each column of several files."""
    first = files[0]
    columns = list(dict.fromkeys(column for file in files for column in file.types))
    merged: dict[str, pl.DataType] = {}
    for file in files:
        if lost := [column for column in columns if column not in file.types]:
            raise DataError(f"{file.name}: column {lost[0]!r} missing, which other files of {name} have")
    for column in columns:
        types = [file.types[column] for file in files]
        if len(set(types)) > 1 and not all(dtype.is_numeric() for dtype in types):
            if not first.guessed:
                other = next(place for place, dtype in enumerate(types) if dtype != types[0])
                there = f"in {first.name} it is {types[0]}"
                raise DataError(f"{files[other].name}: column {column!r} is {types[other]}, {there}")
            merged[column] = pl.String()
        else:
            empty = [pl.DataFrame(schema={column: dtype}) for dtype in dict.fromkeys(types)]
            merged[column] = pl.concat(empty, how="vertical_relaxed").schema[column]
    return merged
