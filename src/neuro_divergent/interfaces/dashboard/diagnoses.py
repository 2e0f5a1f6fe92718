"""Diagnoses of runs, also of runs in training."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from neuro_divergent.runs.tables import RunTables

_SECONDS_TO_KEEP = 10.0
_MOST_RUNS = 64


class Diagnoses:
    """Cached diagnoses; a run is diagnosed again only after some seconds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()  # one diagnosis at a time: each reads all files of a run

    def read(self, run: Path, *, refresh: bool) -> dict[str, Any]:
        """Return what was found at the end of a run or, without that or to refresh it, a diagnosis of now."""
        if not refresh and (kept := RunTables(run).diagnosis) is not None:
            return kept
        with self._lock:
            when, found = self._kept.get(run, (float("-inf"), {}))
            if time.monotonic() - when > _SECONDS_TO_KEEP:
                from neuro_divergent.diagnostics.doctor import diagnose

                found = diagnose(run).to_dict()
                self._kept[run] = (time.monotonic(), found)
                self._kept.move_to_end(run)
                if len(self._kept) > _MOST_RUNS:
                    self._kept.popitem(last=False)
            return found
