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

from neuro_divergent.evaluation.evaluate import REFERENCE
from neuro_divergent.interfaces.dashboard.live import LiveHistories
from neuro_divergent.interfaces.dashboard.processes import LiveProcesses
from neuro_divergent.interfaces.dashboard.series_list import SeriesList
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.figures.ranking import ranking_figure
from neuro_divergent.reporting.run_figures import available, figure_of
from neuro_divergent.runs.series_table import SeriesTable, Stamp, stamp_of
from neuro_divergent.runs.tables import RunTables, SeriesRows

_MOST_RUNS = 4
_MOST_BYTES = 256 * 1024**2  # of what was read about the series of all runs but the last
_MOST_ROWS = 5000
_ROWS_OF_BACKTEST = 2**20  # for figures, which are drawn of some of the series of a larger one
_RANKING = "ranking"
_OF_BACKTEST = (_RANKING, "error-by-step", "residuals", "residual-histogram", "residual-autocorrelation")

Stamps = tuple[tuple[str, int, int], ...]


class ShownTables(RunTables):
    """The files of a run, its history from the cache of them, and lists for the page.

    Args:
        path: The directory of the run.
        histories: Cache of the histories.
        processes: Cache of what processes did.
        before: The tables as they were before a file of the run changed; what was found out about others is kept.
    """

    def __init__(
        self, path: Path, histories: LiveHistories, processes: LiveProcesses, before: ShownTables | None = None
    ) -> None:
        super().__init__(path)
        self._histories = histories
        self._processes = processes
        self._opened: dict[str, SeriesTable] = {} if before is None else dict(before._opened)
        self._listed: tuple[list[Stamp], SeriesList] | None = None if before is None else before._listed
        self._lock = threading.Lock()

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
    def backtest(self) -> pl.DataFrame | None:
        """Forecasts of held-out values; of many, those of some series."""
        return self._sample[0]

    @property
    def series_list(self) -> SeriesList:
        """The names of all series."""
        names, stamps = self.series, [table.stamp for table in self._tables]
        with self._lock:
            if self._listed is None or not stamps or self._listed[0] != stamps:
                self._listed = stamps, SeriesList(names)
            return self._listed[1]

    @property
    def nbytes(self) -> int:
        """The bytes in memory of what was read about the series."""
        # Nothing is read to find out: a cached property is in the dictionary once it was used.
        backtest = self.__dict__.get("_sample", (None, None))[0]
        kept = 0 if backtest is None else int(backtest.estimated_size())
        listed = 0 if self._listed is None else self._listed[1].nbytes
        return kept + listed + sum(table.nbytes for table in list(self._opened.values()))

    def figure(self, name: str) -> tuple[Figure, str]:
        """Return a figure, and a note on what it is drawn of; ``figure_of`` has the errors."""
        count = self._sample[1] if name in _OF_BACKTEST else None
        # The best and the worst series are those among all.
        errors = self.mean_errors(REFERENCE) if count is not None and name == _RANKING else None
        figure = figure_of(self, name) if errors is None else ranking_figure(errors, id=self.id)
        if count is None or errors is not None:
            return figure, figure.note
        return figure, f"{figure.note} Drawn of {count:,} evenly spread series of the backtest.".strip()

    def forecast_rows(self, rows: SeriesRows) -> list[dict[str, Any]]:
        """Return what is forecast of a series, with the times as text below ``time``."""
        frame = rows.forecasts
        if frame is None or self.time not in frame.columns:
            return []
        if self.id is not None and self.id in frame.columns:
            frame = frame.drop(self.id)
        found = frame.head(_MOST_ROWS).to_dicts()
        times = [row.pop(self.time) for row in found]
        texts = [time.isoformat() if hasattr(time, "isoformat") else str(time) for time in times]
        return [{"time": text, **row} for text, row in zip(texts, found, strict=True)]

    def open_table(self, name: str, id: str, dtype: pl.DataType | None) -> SeriesTable:  # noqa: A002 (as in a schema)
        """Open a table, unless it is open and unchanged."""
        with self._lock:
            known = self._opened.get(name)
            if known is None or (known.id, known.dtype, known.stamp) != (id, dtype, stamp_of(self.path / name)):
                known = self._opened[name] = super().open_table(name, id, dtype)
            return known

    @cached_property
    def _sample(self) -> tuple[pl.DataFrame | None, int | None]:
        return self.sample_backtest(_ROWS_OF_BACKTEST)


class TablesOfRuns:
    """Cache of the tables of runs, least recently used first out."""

    def __init__(self, histories: LiveHistories, processes: LiveProcesses) -> None:
        self._histories = histories
        self._processes = processes
        self._kept: OrderedDict[Path, tuple[Stamps, ShownTables]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, run: Path) -> ShownTables:
        """Return the tables of a run as they are now."""
        stamps = _stamps(run)
        with self._lock:
            known = self._kept.get(run)
            if known is None or known[0] != stamps:
                before = None if known is None else known[1]
                known = stamps, ShownTables(run, self._histories, self._processes, before)
                self._kept[run] = known
            self._kept.move_to_end(run)
            while len(self._kept) > _MOST_RUNS or (len(self._kept) > 1 and self._bytes_before_last() > _MOST_BYTES):
                self._kept.popitem(last=False)
        return known[1]

    def _bytes_before_last(self) -> int:
        return sum(tables.nbytes for _, tables in list(self._kept.values())[:-1])


def _stamps(run: Path) -> Stamps:
    """Return the names, times and sizes of the files in a directory."""
    found = []
    with suppress(OSError), os.scandir(run) as items:
        for item in items:
            status = item.stat(follow_symlinks=False)
            found.append((item.name, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))
