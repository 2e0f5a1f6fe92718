"""Histories of runs that may be training: read once, then incrementally; downsampled for display."""

from __future__ import annotations

import io
import os
import stat
import threading
from collections import OrderedDict
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.reporting.sampling import PER_BUCKET, min_max
from neuro_divergent.runs.directory import EVENTS, HISTORY
from neuro_divergent.runs.events import EventFile
from neuro_divergent.runs.history_reader import RowTable

_BYTES_AT_ONCE = 64 * 1024**2
_MOST_BYTES = 1024**3  # of events, from the end: about six million rows
_MOST_BYTES_OF_TABLE = 1024**3
_MOST_ROWS = 2_500_000  # in all histories that are kept: about 200 MB
_MOST_HISTORIES = 256
_LARGE = 16 * 1024**2


class LiveHistory:
    """The history of a run, which is continued from the last read."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._file = EventFile(run / EVENTS)
        self._table = RowTable()
        self._is_new = True
        self._lock = threading.Lock()

    @property
    def rows(self) -> int:
        """How many rows there were at the last read."""
        return self._table.frame.height

    def read(self) -> tuple[pl.DataFrame, int]:
        """Return the valid rows, and the byte of the events up to which they go."""
        with self._lock:
            if self._is_new:
                self._begin()
                self._is_new = False
            while True:
                before = self._file.offset
                with _few_at_once if self._waiting() > _LARGE else nullcontext():
                    block = self._file.read_block(limit=_BYTES_AT_ONCE)
                    if self._file.offset < before:  # the file was replaced
                        self._table = RowTable()
                    if block:
                        self._table.add(block)
                    if self._file.offset == before:
                        return self._table.frame, before

    def _begin(self) -> None:
        """Start from the table written at the end of training, if it is up to date; or from the end of the events."""
        events = _stat(self._run / EVENTS)
        kept = _stat(self._run / HISTORY)
        if kept is not None and (events is None or kept.st_mtime_ns >= events.st_mtime_ns):
            frame = _read_table(self._run / HISTORY)
            if frame is not None:
                self._table = RowTable(frame)
                self._file.offset = 0 if events is None else events.st_size
                return
        self._file.offset = max(0, (0 if events is None else events.st_size) - _MOST_BYTES)

    def _waiting(self) -> int:
        found = _stat(self._run / EVENTS)
        return 0 if found is None else found.st_size - self._file.offset


class LiveHistories:
    """Cache of histories, bounded by their number of rows; the least recently used go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, LiveHistory] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, run: Path) -> tuple[pl.DataFrame, int]:
        """Return the valid rows of a run, and the byte of its events up to which they go."""
        with self._lock:
            history = self._kept.setdefault(run, LiveHistory(run))
            self._kept.move_to_end(run)
        found = history.read()
        with self._lock:
            while len(self._kept) > 1 and (
                len(self._kept) > _MOST_HISTORIES or sum(item.rows for item in self._kept.values()) > _MOST_ROWS
            ):
                self._kept.popitem(last=False)
        return found


def thin(
    frame: pl.DataFrame, column: str, points: int, *, begin: int | None = None, end: int | None = None
) -> dict[str, list[Any]]:
    """Return steps and values of a column from one step to another, at most so many points.

    The ends, the lowest and the highest are among them.
    """
    known = frame.select("step", pl.col(column).cast(pl.Float64, strict=False).alias("value"))
    if begin is not None:
        known = known.filter(pl.col("step") >= begin)
    if end is not None:
        known = known.filter(pl.col("step") <= end)
    known = known.filter(pl.col("value").is_finite() & pl.col("step").is_not_null())
    step, value = known["step"].to_numpy(), known["value"].to_numpy()
    if len(step) > points:
        step, value = min_max(step, value, max(points // PER_BUCKET, 1))
    return {"step": step.tolist(), "value": value.tolist()}


def columns_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns of a history that can be drawn over steps."""
    return [name for name, dtype in frame.schema.items() if dtype.is_numeric() and name != "step"]


def _read_table(path: Path) -> pl.DataFrame | None:
    """Return a history that was kept as a table, or ``None`` if it is no such table."""
    try:
        frame = pl.read_parquet(io.BytesIO(read_file(path, limit=_MOST_BYTES_OF_TABLE)))
        numbers = frame.select(name for name, dtype in frame.schema.items() if dtype.is_numeric())
        return numbers.with_columns(pl.col("step").cast(pl.Int64, strict=False))
    except (NeuroDivergentError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _stat(path: Path) -> os.stat_result | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


_few_at_once = threading.BoundedSemaphore(2)
"""Large histories take memory while they are read."""
