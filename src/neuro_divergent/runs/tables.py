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
from typing import Any, TypeVar

import polars as pl

from neuro_divergent.core.errors import NeuroDivergentError, UntrustedFileError
from neuro_divergent.core.storage.atomic import read_file, read_json
from neuro_divergent.data.io.parquet_file import PROBLEMS, check_parquet
from neuro_divergent.data.io.source import DEFAULT_ID
from neuro_divergent.runs.directory import CONFIG, CONTEXT, DATA, ENVIRONMENT, SCORES
from neuro_divergent.runs.events import layers_of, read_events
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.runs.processes import processes_of

BACKTEST = "backtest.parquet"
CALIBRATION = "calibration.json"
DIAGNOSIS = "diagnosis.json"
FORECASTS = "forecasts.csv"
NETWORK = "network.json"
_LONGEST_REASON = 200
_MOST_TEXT = 16 * 1024**2
_MOST_TABLE = 256 * 1024**2
_MOST_UNPACKED = 2 * 1024**3
T = TypeVar("T")
_PROBLEMS = (NeuroDivergentError, ValueError, RecursionError, *PROBLEMS)


class RunTables:
    """The files of a run directory, read when first used and then cached; make a new one to see later changes.

    Attributes:
        unread: Files that are there and cannot be read, of those that were used, and why.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.unread: dict[str, str] = {}

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
        tables = (self.context, self.backtest, self._texts)
        return DEFAULT_ID if any(frame is not None and DEFAULT_ID in frame.columns for frame in tables) else None

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

    @cached_property
    def forecasts(self) -> pl.DataFrame | None:
        """Forecasts after the end of each series; names and times are of the types that the context has."""
        texts, known = self._texts, self.context if self.context is not None else self.backtest
        if texts is None:
            return None
        try:
            return texts.select(self._typed(texts[name], known) for name in texts.columns)
        except _PROBLEMS:
            return None

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

    @cached_property
    def _texts(self) -> pl.DataFrame | None:
        """The forecasts as they are written."""
        return self._read(FORECASTS, _read_csv)

    def _typed(self, texts: pl.Series, known: pl.DataFrame | None) -> pl.Series:
        if texts.name == self.time:
            return _as_times(texts, None if known is None else known.schema.get(self.time))
        if texts.name != self.id:
            return texts.cast(pl.Float64, strict=False)
        dtype = None if known is None else known.schema.get(texts.name)
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
