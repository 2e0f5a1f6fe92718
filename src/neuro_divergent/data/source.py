"""Where tables come from and go to: CSV and Parquet files, and frames of polars, pandas and Arrow.

A row number in a message counts rows of data from 1; the header of a CSV file is not one, a blank line is. The rows of
a pattern (``"sales/*.csv"``) are counted on from file to file, in the order of their names.
"""

from __future__ import annotations

import csv
import dataclasses
import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError, UntrustedFileError, did_you_mean
from neuro_divergent.data.schema import Schema

Backend = Literal["polars", "pandas", "pyarrow"]

DEFAULT_ID = "unique_id"
_IN_MEMORY = "data"
_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".bin")
_WRONG_BYTE = r"[\udc80-\udcff]"  # How Python stands in for a byte that it cannot decode.
_PANICS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, zlib.error, EOFError, MemoryError)


@dataclass(frozen=True)
class Table:
    """Rows as they came, and what is needed to talk about them.

    Attributes:
        frame: The columns that were asked for and exist, or all of them.
        name: The file or pattern as it was given, or ``"data"`` for a frame.
        backend: The library the frame came from, which is also what forecasts are returned in.
        columns: Names of all columns of the source, also of those that were not read.
        guessed: Whether types were found by looking at the values, as in a CSV file, and not written down.
    """

    frame: pl.DataFrame
    name: str = _IN_MEMORY
    backend: Backend = "polars"
    columns: tuple[str, ...] = ()
    guessed: bool = False

    def describe(self, message: str) -> str:
        """Say which file a message is about; a frame that is in memory goes without a name."""
        return message if self.name == _IN_MEMORY else f"{self.name}: {message}"

    def error(self, message: str) -> DataError:
        """Return an error about this table."""
        return DataError(self.describe(message))

    def lacks(self, column: str) -> DataError:
        """Return the error for a column that is not there."""
        names = [name if name.isprintable() and name else repr(name)[:60] for name in self.columns[:20]]
        found = ", ".join(names) + (", ..." if len(self.columns) > 20 else "")
        return self.error(f"column {column!r} missing; found {found}.{did_you_mean(column, self.columns)}")


def read_table(source: Any, schema: Schema | None = None, *, only: Sequence[str] | None = None) -> Table:
    """Read a table from a file, a pattern of files or a frame.

    A CSV file is comma-separated (``.tsv``: tab-separated), in UTF-8 and with a header; it may be compressed
    (``.csv.gz``). Columns become numbers (covariates also true/false) where every value is one, else text; the names of
    series and categories stay text if a number would lose their leading zeros. Dates stay text until their role is
    known; ``calendar.check_times`` reads them.

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
        table = _read_frame(source, wanted)
    if not table.frame.height and (table.frame.width or wanted is None):
        raise DataError(f"{table.name}: no data rows")
    return table


def backend_of(source: Any) -> Backend:
    """Return the library of a table, so that what came in can go out; polars for everything that is read."""
    if isinstance(source, (str, os.PathLike, pl.DataFrame, pl.LazyFrame)):
        return "polars"
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(source):
        return "pandas"
    return "pyarrow" if nw.dependencies.is_pyarrow_table(source) else "polars"


def to_native(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Build the frame that a user gets back.

    Args:
        columns: Polars series or numpy arrays of one length, by name.
        backend: The library of the frame. Dates become ``datetime64`` in pandas, which has no dates.
    """
    if backend != "pandas":
        frame = pl.DataFrame([_named(name, values) for name, values in columns.items()])
        return frame if backend == "polars" else frame.to_arrow()
    import narwhals as nw

    first, *others = (_to_pandas(nw, name, values) for name, values in columns.items())
    return first.to_frame().with_columns(*others).to_native()


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
            with open(path, "rb"):  # noqa: PTH123 (the path is shown as it was given)
                pass
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
    frame = (
        frames[0] if len(frames) == 1 else pl.concat([part.select(columns) for part in frames], how="vertical_relaxed")
    )
    return dataclasses.replace(first, frame=frame, name=name)


def _read_file(path: str, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
    ending = "".join(Path(path).suffixes[-2:]).lower()
    if ending.endswith(_PICKLES):
        raise UntrustedFileError(f"{path}: pickle is never loaded; save the table as CSV or Parquet")
    if ending.endswith((".parquet", ".pq")):
        return _read_parquet(path, wanted)
    for known, separator in ((".csv", ","), (".csv.gz", ","), (".tsv", "\t"), (".tsv.gz", "\t")):
        if ending.endswith(known):
            return _Csv(path, separator).read(schema, wanted)
    raise DataError(f"{path}: unknown kind of file; known are .csv, .csv.gz, .tsv, .tsv.gz, .parquet and .pq")


def _read_parquet(path: str, wanted: Sequence[str] | None) -> Table:
    try:
        lazy = pl.scan_parquet(path, glob=False)
        schema = lazy.collect_schema()
        known = schema.names()
        chosen = known if wanted is None else [column for column in wanted if column in known]
        rows = lazy.select(pl.len()).collect().item()
        need = 8 * rows * len(chosen) / 2**30
        if need > _memory():
            raise DataError(
                f"{path}: declares {rows:,} rows, about {need:.1f} GiB, and this machine has {_memory():.1f}. "
                "Panel.from_parquet reads tables larger than the memory"
            )
        return Table(lazy.select(chosen).collect(), path, "polars", tuple(known))
    except _PANICS as error:
        raise DataError(f"{path}: not a complete Parquet file ({_first_line(error)})") from None


class _Csv:
    """One CSV file. Good files are read once; where that fails, slower passes find the first wrong row."""

    def __init__(self, path: str, separator: str) -> None:
        self.path, self.separator = path, separator

    def read(self, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
        names = self._header()
        chosen = [name for name in names if wanted is None or name in wanted]
        # Nothing may be lost by guessing a type: the series "007" is not the series 7, and 3/4/21 is no date yet.
        guessed = [name for name in chosen if schema and name in schema.covariates and name not in schema.categorical]
        types: dict[str, Any] = {**dict.fromkeys(names, pl.String), **self._guess(guessed, names)}
        for name in (schema.target, schema.weight) if schema else ():
            if name in chosen:
                types[name] = pl.Float64
                guessed.append(name)
        frame = self._parse(names, types, chosen)
        texts = [column for column in frame if column.dtype == pl.String]
        numbers = [
            _floats(column) if column.name in guessed else _exact_numbers(column, fractions=schema is None)
            for column in texts
        ]
        return Table(frame.with_columns(numbers), self.path, "polars", tuple(names), guessed=True)

    def _fail(self, message: str) -> DataError:
        return DataError(f"{self.path}: {message}")

    def _header(self) -> list[str]:
        try:
            with self._open(errors="surrogateescape") as file:  # More than the header is decoded, and not all of it is.
                names = next((row for row in csv.reader(file, delimiter=self.separator) if row), [])
        except (*_PANICS, csv.Error) as error:
            raise self._fail(f"header cannot be read ({_first_line(error)})") from None
        if wrong := re.search(_WRONG_BYTE, "".join(names)):
            raise self._fail(f"header: byte 0x{ord(wrong[0]) - 0xDC00:02X} is not UTF-8; save the file as UTF-8")
        if not names:
            raise self._fail("no data rows")
        if len(names) == 1 and (other := next((mark for mark in ";\t|," if mark in names[0]), None)):
            raise self._fail(f"columns are separated by {other!r}; write commas (.csv) or tabs (.tsv)")
        for name in filter(None, names):
            places = [str(place) for place, other in enumerate(names, 1) if other == name]
            if len(places) > 1:
                raise self._fail(f"column {name!r} appears twice ({', '.join(places)})")
        return names

    def _open(self, errors: str = "strict") -> IO[str]:
        file: Any = gzip.open(self.path) if self.path.lower().endswith(".gz") else open(self.path, "rb")  # noqa: PTH123, SIM115
        return io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors, newline="")

    def _scan(self, names: list[str], types: Mapping[str, Any] | None, rows: int | None = None) -> pl.DataFrame:
        # Columns that nobody wants are read too: without them a row with too many fields would go unnoticed.
        options = {"schema_overrides": list(types.values())} if types else {"infer_schema_length": rows}
        frame = pl.read_csv(self.path, separator=self.separator, n_rows=rows, glob=False, **options)
        return frame.rename(dict(zip(frame.columns, names, strict=True))) if len(set(names)) == len(names) else frame

    def _guess(self, inferred: list[str], names: list[str]) -> dict[str, Any]:
        if not inferred:
            return {}
        try:
            schema = self._scan(names, None, rows=1000).schema
        except (*_PANICS, ValueError):
            return {}
        simple = {name: pl.Float64 if schema[name].is_numeric() else schema[name] for name in inferred}
        return {name: dtype if dtype in (pl.Float64, pl.Boolean) else pl.String for name, dtype in simple.items()}

    def _parse(self, names: list[str], types: dict[str, Any], chosen: list[str]) -> pl.DataFrame:
        try:
            frame = self._scan(names, types)
        except (*_PANICS, ValueError):
            self._find_wrong_row(len(names))
            try:
                frame = self._scan(names, dict.fromkeys(names, pl.String))
            except (*_PANICS, ValueError) as error:
                raise self._fail(f"cannot be read ({_first_line(error)})") from None
        # A row with too few fields has no last one, but so has a complete row whose last value is missing.
        if frame.height and frame.to_series(-1).null_count() and self._has_short_line(len(names)):
            self._find_wrong_row(len(names))
        if frame.height and not any(value is not None for value in frame.row(-1)):  # Blank lines may end a file.
            filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
            frame = frame.head(int(filled[-1]) + 1 if len(filled) else 0)
        return frame.select(chosen)

    def _has_short_line(self, fields: int) -> bool:
        with self._open(errors="surrogateescape") as file:
            return any(line.count(self.separator) < fields - 1 and not line.isspace() for line in file)

    def _find_wrong_row(self, fields: int) -> None:
        """Read the file the slow way and raise an error for the first row that is not a row."""
        row = 0
        try:
            with self._open() as file:
                for row, values in enumerate(csv.reader(file, delimiter=self.separator, strict=True)):
                    if values and row and len(values) != fields:
                        raise self._fail(f"row {row}: {len(values)} fields, expected {fields}")
        except UnicodeDecodeError:
            self._find_wrong_byte()
        except csv.Error as error:
            raise self._fail(f"row {row + 1}: {error}; is a quotation mark left open?") from None
        except (OSError, EOFError, zlib.error) as error:
            raise self._fail(f"not a complete file ({_first_line(error)})") from None

    def _find_wrong_byte(self) -> None:
        with self._open(errors="surrogateescape") as file:
            for row, line in enumerate(file):
                if wrong := re.search(_WRONG_BYTE, line):
                    byte = ord(wrong[0]) - 0xDC00
                    raise self._fail(f"row {row}: byte 0x{byte:02X} is not UTF-8; save the file as UTF-8")


def _floats(column: pl.Series) -> pl.Series:
    """Turn text into numbers where all of it is numbers; saying what is wrong is left to those who know the roles."""
    numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column


def _exact_numbers(column: pl.Series, *, fractions: bool) -> pl.Series:
    """Turn text into whole numbers, or fractions, where nothing is lost by it: ``"007"`` stays text."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count() and (whole.cast(pl.String) == column).all():
        return whole
    return column if not fractions or column.str.contains(r"^[+-]?0\d").any() else _floats(column)


def _read_frame(source: Any, wanted: Sequence[str] | None) -> Table:
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        try:
            known = source.collect_schema().names()
            frame = source.lazy().select([name for name in known if wanted is None or name in wanted]).collect()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{_IN_MEMORY}: the lazy frame cannot be collected ({_first_line(error)})") from None
        return Table(frame, columns=tuple(known))
    import narwhals as nw

    backend = backend_of(source)
    if backend == "polars":
        raise DataError(
            f"{type(source).__name__} is not a table; pass a path, a polars or pandas DataFrame or a pyarrow Table"
        )
    try:
        native = nw.from_native(source, eager_only=True)
        chosen = [name for name in native.columns if wanted is None or name in wanted]
        if backend == "pyarrow":
            frame = pl.DataFrame(pl.from_arrow(native.select(chosen).to_native()))
        else:
            frame = pl.DataFrame([_from_pandas(nw, native[name]).alias(str(name)) for name in chosen])
    except (nw.exceptions.NarwhalsError, *_PANICS) as error:
        raise DataError(f"{_IN_MEMORY}: {_first_line(error)}") from None
    return Table(frame, backend=backend, columns=tuple(str(name) for name in native.columns))


def _from_pandas(nw: Any, column: Any) -> pl.Series:
    """Convert one column without pyarrow, which pandas does not need either."""
    dtype = column.dtype
    if dtype == nw.Datetime:
        zone = dtype.time_zone
        column = column if zone is None else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        times = pl.Series(column.to_numpy())
        return times if zone is None else times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if (dtype.is_numeric() or dtype == nw.Boolean) and not column.is_null().any():
        return pl.Series(column.to_numpy())
    if dtype.is_float():
        return pl.Series(column.to_numpy().astype(np.float64))
    try:
        return pl.Series(column.to_polars())  # Much faster, if pyarrow is there.
    except (ImportError, TypeError, ValueError):
        missing = column.is_null().to_list()
    values = [None if absent else value for value, absent in zip(column.to_list(), missing, strict=True)]
    try:
        return pl.Series(values, strict=True)
    except (TypeError, *_PANICS):
        raise DataError(f"column {column.name!r} holds values of different types; make them one type") from None


def _to_pandas(nw: Any, name: str, values: Any) -> Any:
    if not isinstance(values, pl.Series):
        return nw.new_series(name, values, backend="pandas")
    if not values.dtype.is_temporal():
        plain = values.to_list() if values.dtype.is_nested() or not values.dtype.is_numeric() else values.to_numpy()
        return nw.new_series(name, plain, backend="pandas")
    zone = getattr(values.dtype, "time_zone", None)
    series = nw.new_series(name, values.to_numpy(), backend="pandas")
    return series if zone is None else series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _named(name: str, values: Any) -> pl.Series:
    if not isinstance(values, pl.Series):
        return pl.Series(name, values)
    return values if values.name == name else values.alias(name)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:200] or type(error).__name__


def _memory() -> float:
    """GiB of the machine, or infinite where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        return float("inf")
