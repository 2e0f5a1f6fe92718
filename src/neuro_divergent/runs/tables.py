"""The tables of a run directory, for figures, reports and pages.

Whatever is in the directory, half written, damaged or foreign, reading it raises no error: what is not there, cannot
be read, is too large or is no regular file is ``None``. Nothing here needs torch.
"""

from __future__ import annotations

import io
import os
import tomllib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from neuro_divergent.core.errors import NeuroDivergentError, UntrustedFileError
from neuro_divergent.core.storage.atomic import read_file, read_json
from neuro_divergent.data.io.parquet_file import PROBLEMS, check_parquet
from neuro_divergent.data.io.source import DEFAULT_ID
from neuro_divergent.runs.csv_blocks import CsvBlocks
from neuro_divergent.runs.directory import CONFIG, CONTEXT, DATA, ENVIRONMENT, SCORES
from neuro_divergent.runs.events import layers_of, read_events
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.runs.mean_errors import mean_errors
from neuro_divergent.runs.processes import processes_of
from neuro_divergent.runs.series_table import ParquetSeriesTable, SeriesTable, open_series_table, stamp_of

BACKTEST = "backtest.parquet"
CALIBRATION = "calibration.json"
DIAGNOSIS = "diagnosis.json"
FORECASTS = "forecasts.csv"
FORECASTS_OF_MANY = "forecasts.parquet"
NETWORK = "network.json"
_LONGEST_REASON = 200
_MOST_TEXT = 16 * 1024**2
_MOST_TABLE = 256 * 1024**2
_MOST_UNPACKED = 2 * 1024**3
T = TypeVar("T")
_PROBLEMS = (NeuroDivergentError, ValueError, RecursionError, *PROBLEMS)


class SeriesRows(NamedTuple):
    """The rows of one series: its end, its forecasts, and its backtest; each ``None`` if there are none."""

    context: pl.DataFrame | None
    forecasts: pl.DataFrame | None
    backtest: pl.DataFrame | None


class RunTables:
    """The files of a run directory, read when first used and then cached; make a new one to see later changes.

    Attributes:
        unread: Files that are there and cannot be read, of those that were used, and why.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.unread: dict[str, str] = {}
        self._column_names: dict[str, tuple[str, ...]] = {}
        self._series_tables: dict[str, SeriesTable | None] = {}
        self._series: pl.Series | None = None

    @cached_property
    def config(self) -> dict[str, Any] | None:
        """The settings of the run."""
        return self._read(CONFIG, lambda path: tomllib.loads(read_file(path, limit=_MOST_TEXT).decode("utf-8")))

    @property
    def time(self) -> str:
        """Name of the column of times."""
        return self._setting("data", "time") or "ds"

    @property
    def target(self) -> str:
        """Name of the column that is forecast."""
        return self._setting("data", "target") or "y"

    @cached_property
    def id(self) -> str | None:
        """Name of the column that names the series; ``None`` for a single series without a name."""
        if named := self._setting("data", "id"):
            return named
        names = (CONTEXT, BACKTEST, self.forecasts_file)
        return DEFAULT_ID if any(DEFAULT_ID in self._columns(name) for name in names) else None

    @property
    def model(self) -> str:
        """Name of the architecture."""
        return self._setting("model", "name") or "model"

    @cached_property
    def history(self) -> pl.DataFrame | None:
        """Losses, rates and speeds of training, row by row."""
        frame = read_history(self.path)
        return frame if frame.height else None

    @cached_property
    def layers(self) -> pl.DataFrame | None:
        """Norms by layer: ``step``, ``layer``, ``gradient``, ``weight``, ``update``."""
        frame = layers_of(self.events)
        return frame if frame.height else None

    @cached_property
    def processes(self) -> pl.DataFrame | None:
        """What each of several processes did, row by row: the ``frame`` of a ``ProcessTable``."""
        frame = processes_of(self.events)
        return frame if frame.height else None

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """All events of training but the rows of the history."""
        return read_events(self.path)

    @cached_property
    def context(self) -> pl.DataFrame | None:
        """The last rows of each series: id, time and target."""
        return self._read(CONTEXT, _read_parquet)

    @cached_property
    def backtest(self) -> pl.DataFrame | None:
        """Forecasts of held-out values, with the observed values and the baselines."""
        return self._read(BACKTEST, _read_parquet)

    @property
    def forecasts_file(self) -> str:
        """Name of the file of forecasts."""
        return FORECASTS_OF_MANY if os.path.lexists(self.path / FORECASTS_OF_MANY) else FORECASTS

    @cached_property
    def forecasts(self) -> pl.DataFrame | None:
        """Forecasts after the end of each series; names and times are of the types that the context has."""
        if self.forecasts_file == FORECASTS_OF_MANY:
            return self._read(FORECASTS_OF_MANY, _read_parquet)
        texts = self._read(FORECASTS, _read_csv)
        return None if texts is None else self._typed(texts)

    @property
    def series(self) -> pl.Series:
        """The names of all series as text, in the order they are written; one without a name has that of its column.

        Of the tables, only the columns of ids are read, piece by piece, however large they are.
        """
        if self._series is None:
            names = (CONTEXT, BACKTEST, self.forecasts_file)
            is_one = self.id is None and any(map(self._columns, names))
            found = pl.Series("series", [self.target] if is_one else [], dtype=pl.String)
            for table in self._tables:
                found = _joined(found, table.index.names)
            self._series = found
        return self._series

    def rows_of(self, series: str) -> SeriesRows:
        """Return what the tables have about a series; tables that cannot be read, or have nothing, are ``None``."""
        if self.id is None:
            return SeriesRows(self.context, self.forecasts, self.backtest)
        # A table that does not name the series has no other.
        context, ahead, backtest = self._context_table, self._forecast_table, self._backtest_table
        rows = None if ahead is None else self._rows(ahead, series)
        return SeriesRows(
            self.context if context is None else self._rows(context, series),
            self.forecasts if ahead is None else self._typed(rows) if rows is not None and ahead.is_text else rows,
            self.backtest if backtest is None else self._rows(backtest, series),
        )

    def sample_backtest(self, rows: int) -> tuple[pl.DataFrame | None, int | None]:
        """Return the backtest or, of one with many more rows, complete series from evenly spread places.

        Returns:
            The table, and the number of series that it has if these are not all.
        """
        table = self._backtest_table
        if not isinstance(table, ParquetSeriesTable) or table.rows <= 4 * rows:
            return self._read(BACKTEST, _read_parquet), None
        found: list[int] = []

        def read(_: Path) -> pl.DataFrame:
            frame, count = table.sample(rows)
            found.append(count)
            return frame

        frame = self._read(BACKTEST, read)
        return frame, found[0] if found else None

    def mean_errors(self, reference: str) -> pl.DataFrame | None:
        """Return a backtest of one row for each series, with its mean absolute errors: see ``mean_errors``."""
        table = self._backtest_table
        if not isinstance(table, ParquetSeriesTable):
            return None
        return self._read(BACKTEST, lambda _: mean_errors(table, reference))

    @cached_property
    def scores(self) -> dict[str, Any] | None:
        """Scores of the model and of the baselines."""
        return self._json(SCORES)

    @cached_property
    def calibration(self) -> dict[str, Any] | None:
        """Coverage of intervals and calibration of quantiles."""
        return self._json(CALIBRATION)

    @cached_property
    def network(self) -> dict[str, Any] | None:
        """Blocks, weights and activations of the network."""
        return self._json(NETWORK)

    @cached_property
    def diagnosis(self) -> dict[str, Any] | None:
        """The findings of the doctor."""
        return self._json(DIAGNOSIS)

    @cached_property
    def data(self) -> dict[str, Any] | None:
        """A description of the data."""
        return self._json(DATA)

    @cached_property
    def environment(self) -> dict[str, Any] | None:
        """Versions and machine of the run."""
        return self._json(ENVIRONMENT)

    def open_table(self, name: str, id: str, dtype: pl.DataType | None) -> SeriesTable:  # noqa: A002 (as in a schema)
        """Open a table to read the rows of one series at a time."""
        return open_series_table(self.path / name, id, dtype)

    @property
    def _tables(self) -> list[SeriesTable]:
        tables = (self._forecast_table, self._context_table, self._backtest_table)
        return [table for table in tables if table is not None]

    @property
    def _context_table(self) -> SeriesTable | None:
        return self._table(CONTEXT)

    @property
    def _backtest_table(self) -> SeriesTable | None:
        return self._table(BACKTEST)

    @property
    def _forecast_table(self) -> SeriesTable | None:
        return self._table(self.forecasts_file, is_text=self.forecasts_file == FORECASTS)

    def _table(self, name: str, *, is_text: bool = False) -> SeriesTable | None:
        """Open a table that names its series, and find them."""
        # No cached property: up to Python 3.11, all runs would wait while the series of one are looked for.
        if name not in self._series_tables:
            self._series_tables[name] = self._read(name, lambda _: self._indexed(name, is_text=is_text))
        return self._series_tables[name]

    def _indexed(self, name: str, *, is_text: bool) -> SeriesTable | None:
        named = self.id
        if named is None or named not in self._columns(name):
            return None
        table = self.open_table(name, named, self._types.get(named) if is_text else None)
        assert table.index is not None  # made here, because it is here that errors are recorded
        return table

    def _rows(self, table: SeriesTable, series: str) -> pl.DataFrame | None:
        return self._read(table.path.name, lambda _: table.rows_of(series))

    def _columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table; none where it cannot be read."""
        if name not in self._column_names:
            self._column_names[name] = self._read(name, _read_columns) or ()
        return self._column_names[name]

    @cached_property
    def _types(self) -> dict[str, pl.DataType]:
        """The types of names and times, which a CSV file does not have."""
        for name in (CONTEXT, BACKTEST):
            if self._columns(name) and (schema := self._read(name, pl.read_parquet_schema)):
                return schema
        return {}

    def _typed(self, texts: pl.DataFrame) -> pl.DataFrame | None:
        """Return forecasts that were written as text with the types that they had before."""
        try:
            return texts.select(self._typed_column(texts[name]) for name in texts.columns)
        except _PROBLEMS:
            return None

    def _typed_column(self, texts: pl.Series) -> pl.Series:
        dtype = self._types.get(texts.name)
        if texts.name == self.time:
            return _as_times(texts, dtype)
        if texts.name != self.id:
            return texts.cast(pl.Float64, strict=False)
        return texts if dtype is None else texts.cast(dtype, strict=False)

    def _setting(self, section: str, name: str) -> str | None:
        values = (self.config or {}).get(section)
        found = values.get(name) if isinstance(values, dict) else None
        return found if isinstance(found, str) and found else None

    def _json(self, name: str) -> dict[str, Any] | None:
        return self._read(name, _read_object)

    def _read(self, name: str, read: Callable[[Path], T]) -> T | None:
        """Read a file if it is there, and record why if that fails; a table without rows is ``None``."""
        path = self.path / name
        if not os.path.lexists(path):
            return None
        try:
            found = read(path)
        except _PROBLEMS as error:
            self.unread[name] = " ".join(str(error).split())[:_LONGEST_REASON]
            return None
        return None if isinstance(found, pl.DataFrame) and not found.height else found


def _joined(names: pl.Series, others: pl.Series) -> pl.Series:
    """Return the names of both, each once, those of the first in front."""
    if not len(names) or not len(others) or names.equals(others):
        return names if len(names) else others
    more = others.filter(~others.is_in(names.implode()))
    return pl.concat([names, more], rechunk=True) if len(more) else names


def _read_object(path: Path) -> dict[str, Any]:
    content = read_json(path, _MOST_TEXT)
    if not isinstance(content, dict):
        raise UntrustedFileError(f"{path}: does not hold values by name.")
    return content


def _read_parquet(path: Path) -> pl.DataFrame:
    content = read_file(path, limit=_MOST_TABLE)
    size = sum(check_parquet(str(path), None).sizes.values())
    if size > _MOST_UNPACKED:
        raise UntrustedFileError(f"{path}: {size:,} bytes when unpacked, at most {_MOST_UNPACKED:,} are read.")
    return pl.read_parquet(io.BytesIO(content))


def _read_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a table that has rows."""
    if path.suffix == ".csv":
        file = CsvBlocks(path)
        return file.columns if file.has_rows else ()
    stamp_of(path)  # refuses what is no regular file
    header = check_parquet(str(path), ())
    return header.columns if header.rows else ()


def _read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(read_file(path, limit=_MOST_TABLE)), infer_schema=False)


def _as_times(texts: pl.Series, dtype: pl.DataType | None) -> pl.Series:
    """Return times as the type they had when they were written; where that is unknown, guess it."""
    if dtype is None:
        return _guessed_times(texts)
    if isinstance(dtype, pl.Datetime):
        unit = dtype.time_unit
        if dtype.time_zone is None:
            return texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit=unit, strict=False)
        times = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", time_unit=unit, strict=False)
        return times.dt.convert_time_zone(dtype.time_zone)
    return texts.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.Date else texts.cast(dtype, strict=False)


def _guessed_times(texts: pl.Series) -> pl.Series:
    kinds = (pl.Int64(), pl.Date(), pl.Datetime("us"), pl.Datetime("us", "UTC"))
    for found in (_as_times(texts, kind) for kind in kinds):
        if found.null_count() == texts.null_count():
            return found
    return texts
