"""Diagnoses of runs, also of runs in training."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_json
from neuro_divergent.runs.tables import DIAGNOSIS

_SECONDS_TO_KEEP = 10.0
_MOST_RUNS = 64
_MOST_BYTES = 16 * 1024**2


class Diagnoses:
    """Cached diagnoses; a run is diagnosed again only after some seconds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()  # one diagnosis at a time: each reads all files of a run

    def read(self, run: Path, *, refresh: bool) -> dict[str, Any]:
        """Return the diagnosis.

        Args:
            run: Directory of the run.
            refresh: Whether to diagnose the run now instead of reading what was found at its end.
        """
        if not refresh:
            try:
                content = read_json(run / DIAGNOSIS, _MOST_BYTES)
            except NeuroDivergentError:
                content = None
            if isinstance(content, dict):
                return content
        with self._lock:
            when, found = self._kept.get(run, (float("-inf"), {}))
            if time.monotonic() - when > _SECONDS_TO_KEEP:
                found = _examine(run)
                self._kept[run] = (time.monotonic(), found)
                self._kept.move_to_end(run)
                if len(self._kept) > _MOST_RUNS:
                    self._kept.popitem(last=False)
            return found


def _examine(run: Path) -> dict[str, Any]:
    from neuro_divergent.diagnostics.doctor import diagnose

    return diagnose(run).to_dict()
