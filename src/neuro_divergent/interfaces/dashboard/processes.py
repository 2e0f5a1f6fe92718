"""The processes of runs that may be training: read once, then incrementally."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import polars as pl

from neuro_divergent.runs.directory import EVENTS
from neuro_divergent.runs.events import EventFile, parse_events
from neuro_divergent.runs.processes import KINDS, ProcessTable

_BEGINS = tuple(f'{{"event":"{kind}",'.encode() for kind in KINDS)
_MOST_BYTES = 16 * 1024**2  # of events, from the end
_MOST_RUNS = 16


class _Processes:
    """What the end of the events of a run says about its processes."""

    def __init__(self, run: Path) -> None:
        self._file = EventFile(run / EVENTS)
        with suppress(OSError):
            self._file.offset = max(0, self._file.path.lstat().st_size - _MOST_BYTES)
        self._table = ProcessTable()
        self._lock = threading.Lock()

    def read(self) -> pl.DataFrame:
        with self._lock:
            while True:
                before = self._file.offset
                lines = self._file.read_lines(limit=_MOST_BYTES)
                if self._file.offset < before:  # the file was replaced
                    self._table = ProcessTable()
                self._table.add(parse_events([line for line in lines if line.startswith(_BEGINS)]))
                if self._file.offset == before:
                    return self._table.frame


class LiveProcesses:
    """Cache of what is known of the processes of runs."""

    def __init__(self) -> None:
        self._of_run = lru_cache(_MOST_RUNS)(_Processes)

    def read(self, run: Path) -> pl.DataFrame:
        """Return what each process of a run did: the ``frame`` of a ``ProcessTable``."""
        return self._of_run(run).read()
