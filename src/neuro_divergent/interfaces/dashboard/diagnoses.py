"""What the doctor says about runs, also about those that still train."""

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
    """What was found lately; a run is examined again only after some seconds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()  # one examination at a time: each reads all there is of a run

    def read(self, run: Path, *, anew: bool) -> dict[str, Any]:
        """Return what the doctor found.

        Args:
            run: Directory of the run.
            anew: Whether to examine the run instead of taking what was found at its end.
        """
        if not anew:
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
