"""Where tables come from: files of several kinds, databases, and frames of polars, pandas and Arrow.

A row number in a message counts rows of data from 1; the header of a CSV file is not one, a blank line is. The rows of
a pattern (``"sales/*.csv"``) are counted on from file to file, in the order of their names.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import stat
from collections.abc import Sequence
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.address import is_address, refuse_password, without_password
from neuro_divergent.data.io.csv_file import CsvFile
from neuro_divergent.data.io.file_kind import kind_of
from neuro_divergent.data.io.native import backend_of, read_frame, to_native
from neuro_divergent.data.io.number_columns import read_numbers
from neuro_divergent.data.io.parquet_file import read_parquet
from neuro_divergent.data.io.table import Backend, Table
from neuro_divergent.data.io.wide import DEFAULT_ID, time_column, to_long
from neuro_divergent.data.schema import Schema

__all__ = [
    "DEFAULT_ID",
    "Backend",
    "Table",
    "backend_of",
    "check_source",
    "columns_of",
    "find_files",
    "read_table",
    "read_table_ahead",
    "to_native",
]


def read_table(source: Any, schema: Schema | None = None, *, only: Sequence[str] | None = None) -> Table:
    """Read a table from files, a database or a frame.

    Columns of CSV files, JSON lines and Excel sheets become numbers (covariates also true/false) where every value is
    one, else text; the names of series and categories stay text if a number would lose their leading zeros. Dates stay
    text until their role is known; ``calendar.check_times`` reads them. A wide table becomes a long one.

    Args:
        source: A path or pattern of files of the kinds that ``file_kind`` lists, the address of a database, a polars,
            pandas or Arrow frame, or a ``Table``, which is returned as it is.
        schema: The roles of the columns, and how they are written. Only the columns that have a role are read; all are
            read without a schema.
        only: Names of columns to read instead of all those that have a role.

    Raises:
        DataError: If there is no such file, it cannot be read, it is damaged or it has no rows.
        UntrustedFileError: If it is a pickle, which is never loaded.
    """
    if isinstance(source, Table):
        return source
    wanted = only if only is not None else columns_of(schema) if schema else None
    if schema is None or not schema.wide:
        table = _read(source, schema, wanted)
    else:
        table = to_long(_read(source, schema, None), schema)
        table = table.with_frame(table.frame.select(name for name in table.frame.columns if name in (wanted or ())))
    if not table.frame.height and (table.frame.width or wanted is None):
        raise DataError(f"{table.name}: no data rows")
    return table if schema is None else dataclasses.replace(table, date_format=schema.date_format)


def read_table_ahead(source: Any, schema: Schema) -> Table:
    """Read the ids, times and covariates known ahead, which have no target.

    For wide tables, whose series share their covariates, there are no ids, and the times may be the first column.

    Raises:
        DataError: If the source cannot be read.
    """
    wanted = [schema.id or DEFAULT_ID, schema.time, *schema.future]
    if isinstance(source, Table) or not schema.wide:
        return read_table(source, schema, only=wanted)
    table = _read(source, schema.replace(wide=False), None)
    time = time_column(table, schema)
    frame = table.frame.rename({time: schema.time}) if time != schema.time else table.frame
    frame = frame.select(name for name in frame.columns if name in wanted)
    return dataclasses.replace(table, frame=frame, date_format=schema.date_format)


def check_source(name: str) -> None:
    """Refuse a source that cannot be read, before anything heavy is loaded.

    Raises:
        DataError: If there is no such file.
        ConfigError: If it is the address of a database with a password.
    """
    if is_address(name):
        refuse_password(name)
    else:
        find_files(name)


def _read(source: Any, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
    if not isinstance(source, (str, os.PathLike)):
        table = read_frame(source, wanted, keep_index=schema is not None and schema.wide)
    elif is_address(name := os.fspath(source)):
        from neuro_divergent.data.io.database import read_query

        table = read_query(name, None if schema is None else schema.query, None if wanted is None else list(wanted))
    else:
        return _read_files(name, schema, wanted)
    return table if schema is None or schema.wide else read_numbers(table, schema)


def columns_of(schema: Schema) -> list[str]:
    """Return the columns that have a role, with the usual name of the series column where none is given."""
    weight = [schema.weight] if schema.weight else []
    return [schema.id or DEFAULT_ID, schema.time, schema.target, *weight, *schema.covariates]


def find_files(name: str) -> list[str]:
    """Return the files that a path or pattern means, sorted, after checking that they can be read.

    Raises:
        DataError: If there is none, or one is a directory or may not be read.
    """
    paths = [name]
    if not os.path.lexists(name) and glob.has_magic(name):
        paths = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (Path.glob refuses absolute patterns)
        if not paths:
            raise DataError(f"{name}: not found: no file matches")
    if is_address(name):
        raise DataError(f"{without_password(name)}: is a database, and files are needed here; write its rows to one")
    for path in paths:
        try:
            kind = os.stat(path).st_mode  # noqa: PTH116
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # Opening a pipe would wait for somebody to write.
                raise DataError(f"{path}: is not a regular file; save the table as one")
            with open(path, "rb"):  # noqa: PTH123 (the path is shown as it was given)
                pass
        except DataError:
            raise
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise DataError(f"{path}: not found") from None
        except IsADirectoryError:
            raise DataError(f"{path}: is a directory; name a file or a pattern, such as '{path}/*.parquet'") from None
        except PermissionError:
            raise DataError(f"{path}: permission denied") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return paths


def _read_files(name: str, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
    tables = [_read_file(path, schema, wanted) for path in find_files(name)]
    frames = [table.frame for table in tables]
    first, columns = tables[0], list(dict.fromkeys(column for frame in frames for column in frame.columns))
    for table in tables:
        if lost := [column for column in columns if column not in table.frame.columns]:
            raise table.error(f"column {lost[0]!r} missing, which other files of {name} have")
    for column in columns:
        types = [frame.schema[column] for frame in frames]
        if len(set(types)) > 1 and not all(dtype.is_numeric() for dtype in types):
            if not first.guessed:
                other = next(place for place, dtype in enumerate(types) if dtype != types[0])
                there = f"in {first.name} it is {types[0]}"
                raise tables[other].error(f"column {column!r} is {types[other]}, {there}")
            frames = [frame.with_columns(pl.col(column).cast(pl.String)) for frame in frames]
    if len(frames) > 1:
        frames = [pl.concat([frame.select(columns) for frame in frames], how="vertical_relaxed")]
    return dataclasses.replace(first, frame=frames[0], name=name)


def _read_file(path: str, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
    kind = kind_of(path)
    if kind == "text":
        return CsvFile.of(path, schema).read(schema, wanted)
    if kind == "parquet":
        table = read_parquet(path, wanted)
    else:
        from neuro_divergent.data.io.isolated import read_isolated

        table = read_isolated(path, kind, schema, wanted)
    return table if schema is None or schema.wide else read_numbers(table, schema)
