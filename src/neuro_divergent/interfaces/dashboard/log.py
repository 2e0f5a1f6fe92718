"""Event logs of runs, without history rows, norms by layer and processes."""

from __future__ import annotations

import threading
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import Any

from neuro_divergent.interfaces.dashboard.stream import is_log_event, short
from neuro_divergent.runs.directory import EVENTS
from neuro_divergent.runs.events import EventFile, parse_events

MOST_EVENTS = 5000

_QUIET = (b'{"event":"row",', b'{"event":"layers",', b'{"event":"processes",')
_BYTES_AT_ONCE = 16 * 1024**2
_MOST_LOGS = 64


class _Log:
    """The log events of a run, read incrementally."""

    def __init__(self, run: Path) -> None:
        self._file = EventFile(run / EVENTS)
        self._events: deque[dict[str, Any]] = deque(maxlen=MOST_EVENTS)
        self._lock = threading.Lock()

    def read(self) -> list[dict[str, Any]]:
        """Return the last events."""
        with self._lock:
            while True:
                before = self._file.offset
                lines = self._file.read_lines(limit=_BYTES_AT_ONCE)
                if self._file.offset < before:  # the file was replaced
                    self._events.clear()
                kept = (line for line in lines if not line.startswith(_QUIET))
                self._events.extend(short(event) for event in parse_events(list(kept)) if is_log_event(event))
                if self._file.offset == before:
                    return list(self._events)


class Logs:
    """Cache of the logs of runs."""

    def __init__(self) -> None:
        self._log = lru_cache(_MOST_LOGS)(_Log)

    def read(self, run: Path) -> list[dict[str, Any]]:
        """Return the last log events of a run, the newest last."""
        return self._log(run).read()
