"""Where tables come from: CSV and Parquet files, and frames of polars, pandas and Arrow.

A row number in a message counts rows of data from 1; the header of a CSV file is not one, a blank line is. The rows of
a pattern (``"sales/*.csv"``) are counted on from file to file, in the order of their names.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError, UntrustedFileError
from neuro_divergent.core.storage.pickle_guard import PICKLES
from neuro_divergent.data.io.csv_file import CsvFile
from neuro_divergent.data.io.native import backend_of, read_frame, to_native
from neuro_divergent.data.io.parquet_file import read_parquet
from neuro_divergent.data.io.table import Backend, Table
from neuro_divergent.data.schema import Schema

__all__ = ["DEFAULT_ID", "Backend", "Table", "backend_of", "columns_of", "find_files", "read_table", "to_native"]

DEFAULT_ID = "unique_id"


def read_table(source: Any, schema: Schema | None = None, *, only: Sequence[str] | None = None) -> Table:
    """Read a table from a file, a pattern of files or a frame.

    A CSV file is comma-separated (``.tsv``: tab-separated), in UTF-8 or ``schema.encoding``, and has a header; it may
    be compressed (``.csv.gz``). Columns become numbers (covariates also true/false) where every value is one, else
    text; the names of series and categories stay text if a number would lose their leading zeros. Dates stay text until
    their role is known; ``calendar.check_times`` reads them.

    Args:
        source: A path or pattern (CSV or Parquet, by its ending), a polars, pandas or Arrow frame, or a ``Table``,
            which is returned as it is.
        schema: The roles of the columns. Only the columns that have one are read; all are read without a schema.
        only: Names of columns to read instead of all those that have a role.

    Raises:
        DataError: If there is no such file, it cannot be read, it is damaged or it has no rows.
        UntrustedFileError: If it is a pickle, which is never loaded.
    """
    if isinstance(source, Table):
        return source
    wanted = only if only is not None else columns_of(schema) if schema else None
    if isinstance(source, (str, os.PathLike)):
        table = _read_files(os.fspath(source), schema, wanted)
    else:
        table = read_frame(source, wanted)
    if not table.frame.height and (table.frame.width or wanted is None):
        raise DataError(f"{table.name}: no data rows")
    return table if schema is None else dataclasses.replace(table, date_format=schema.date_format)


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
    ending = "".join(Path(path).suffixes[-2:]).lower()
    if ending.endswith(PICKLES):
        raise UntrustedFileError(f"{path}: pickle is never loaded; save the table as CSV or Parquet")
    if ending.endswith((".parquet", ".pq")):
        return read_parquet(path, wanted)
    for known, separator in ((".csv", ","), (".csv.gz", ","), (".tsv", "\t"), (".tsv.gz", "\t")):
        if ending.endswith(known):
            return CsvFile(path, separator, schema.encoding if schema else None).read(schema, wanted)
    raise DataError(f"{path}: unknown kind of file; known are .csv, .csv.gz, .tsv, .tsv.gz, .parquet and .pq")
