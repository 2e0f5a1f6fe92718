"""Cache of the tables of runs, valid while their files are unchanged."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.interfaces.dashboard.live import LiveHistories
from neuro_divergent.interfaces.dashboard.processes import LiveProcesses
from neuro_divergent.reporting.run_figures import available
from neuro_divergent.runs.tables import RunTables

_MOST_RUNS = 4
_MOST_ROWS = 5000

Stamp = tuple[tuple[str, int, int], ...]


class ShownTables(RunTables):
    """The files of a run, its history from the cache of them, and lists for the page."""

    def __init__(self, path: Path, histories: LiveHistories, processes: LiveProcesses) -> None:
        super().__init__(path)
        self._histories = histories
        self._processes = processes

    @cached_property
    def history(self) -> pl.DataFrame | None:
        """Losses, rates and speeds of training, row by row."""
        frame, _ = self._histories.read(self.path)
        return frame if frame.height else None

    @cached_property
    def processes(self) -> pl.DataFrame | None:
        """What each of several processes did, row by row."""
        frame = self._processes.read(self.path)
        return frame if frame.height else None

    @cached_property
    def figures(self) -> list[tuple[str, str, str]]:
        """Name, group and title of all figures that can be drawn."""
        return available(self)

    @cached_property
    def series(self) -> pl.Series:
        """The names of all series, in the order they are written; one without a name has that of its column."""
        frames = [frame for frame in (self.forecasts, self.context, self.backtest) if frame is not None]
        if self.id is None:
            return pl.Series("series", [self.target] if frames else [], dtype=pl.String)
        names = [frame[self.id].cast(pl.String) for frame in frames if self.id in frame.columns]
        if not names:
            return pl.Series("series", [], dtype=pl.String)
        return pl.concat([item.alias("series") for item in names]).drop_nulls().unique(maintain_order=True)

    def find_series(self, search: str) -> pl.Series:
        """Return the names that contain a text, ignoring case."""
        if not search:
            return self.series
        is_found = self.series.str.to_lowercase().str.contains(search.lower(), literal=True)
        return self.series.filter(is_found)

    def forecast_rows(self, series: str) -> list[dict[str, Any]]:
        """Return what is forecast of a series, with the times as text below ``time``."""
        frame = self.forecasts
        if frame is None or self.time not in frame.columns:
            return []
        if self.id is not None and self.id in frame.columns:
            frame = frame.filter(pl.col(self.id).cast(pl.String) == series).drop(self.id)
        rows = frame.head(_MOST_ROWS).to_dicts()
        times = [row.pop(self.time) for row in rows]
        texts = [time.isoformat() if hasattr(time, "isoformat") else str(time) for time in times]
        return [{"time": text, **row} for text, row in zip(texts, rows, strict=True)]


class TablesOfRuns:
    """Cache of the tables of runs, least recently used first out."""

    def __init__(self, histories: LiveHistories, processes: LiveProcesses) -> None:
        self._histories = histories
        self._processes = processes
        self._kept: OrderedDict[Path, tuple[Stamp, ShownTables]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, run: Path) -> ShownTables:
        """Return the tables of a run as they are now."""
        stamp = _stamp(run)
        with self._lock:
            known = self._kept.get(run)
            tables = (
                ShownTables(run, self._histories, self._processes) if known is None or known[0] != stamp else known[1]
            )
            self._kept[run] = (stamp, tables)
            self._kept.move_to_end(run)
            if len(self._kept) > _MOST_RUNS:
                self._kept.popitem(last=False)
        return tables


def _stamp(run: Path) -> Stamp:
    """Return the names, times and sizes of the files in a directory."""
    found = []
    with suppress(OSError), os.scandir(run) as items:
        for item in items:
            status = item.stat(follow_symlinks=False)
            found.append((item.name, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))
