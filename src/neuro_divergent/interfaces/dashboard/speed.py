"""Steps per second and time left of a run, from the last rows of its events."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import opened
from neuro_divergent.runs.directory import EVENTS
from neuro_divergent.runs.events import parse_events

_TAILS = (32 * 1024, 1024**2)  # norms of many layers may stand between two rows
_ROWS = 50


@dataclass(frozen=True)
class RunSpeed:
    """Last step and speed of a run: the mean over the last rows, of samples that of the last; ``None`` if not known."""

    step: int | None = None
    steps_per_second: float | None = None
    samples_per_second: float | None = None

    def seconds_left(self, step: int | None, total_steps: int | None) -> float | None:
        """Return how long the remaining steps take at this speed."""
        done = max((value for value in (step, self.step) if value is not None), default=None)
        if done is None or total_steps is None or not self.steps_per_second:
            return None
        return round(max(total_steps - done, 0) / self.steps_per_second, 1)


def read_speed(run: Path) -> RunSpeed:
    """Return the speed of a run; only the end of its events is read."""
    for size in _TAILS:
        rows = _last_rows(run / EVENTS, size)
        if len(rows) > 1:
            break
    if not rows:
        return RunSpeed()
    first, last = rows[0], rows[-1]
    seconds, steps = last["time"] - first["time"], last["step"] - first["step"]
    samples = last.get("samples_per_second")
    return RunSpeed(
        step=last["step"],
        steps_per_second=steps / seconds if steps > 0 and seconds > 0 else None,
        samples_per_second=float(samples) if _is_number(samples) else None,
    )


def _last_rows(path: Path, size: int) -> list[dict[str, Any]]:
    """Return the last rows since the last start or rollback."""
    try:
        with opened(path) as handle:
            end = os.fstat(handle).st_size
            os.lseek(handle, max(end - size, 0), os.SEEK_SET)
            content = os.read(handle, size)
    except NeuroDivergentError:
        return []
    rows: list[dict[str, Any]] = []
    for event in parse_events(content.split(b"\n")):
        if event["event"] in ("start", "rolled_back"):
            rows = []
        elif event["event"] == "row" and _is_number(event.get("time")):
            rows.append(event)
    return rows[-_ROWS:]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
