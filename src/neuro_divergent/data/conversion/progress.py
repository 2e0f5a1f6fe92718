"""How far a conversion is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_SECONDS_BETWEEN = 0.1


@dataclass(frozen=True)
class Progress:
    """How far a conversion is.

    Attributes:
        stage: What is being done: ``reading text``, ``counting``, ``partitioning``, ``checking times`` or ``writing``.
        rows: Rows of the table that are done in this stage.
        total: Rows of the table; 0 where that is not known yet.
        seconds: Time since this stage began, in this process.
        resumed: Rows of this stage that another process had done before.
    """

    stage: str
    rows: int
    total: int
    seconds: float
    resumed: int = 0

    @property
    def rate(self) -> float:
        """Rows per second."""
        return (self.rows - self.resumed) / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Time that this stage still takes at that rate, if it can be told."""
        return (self.total - self.rows) / self.rate if self.total and self.rate > 0 else None


Report = Callable[[Progress], None]


class Reporter:
    """Calls a function with the progress, some times a second.

    Args:
        report: The function, or ``None`` to report nothing.
    """

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._stage = ""
        self._began = self._last = 0.0
        self._resumed = 0

    def update(self, stage: str, rows: int, total: int) -> None:
        """Report how many rows are done; the first call of a stage sets where it begins."""
        if self._report is None:
            return
        now = time.monotonic()
        begins = stage != self._stage
        if begins:
            self._stage, self._began, self._resumed = stage, now, rows
        if begins or rows >= total > 0 or now - self._last >= _SECONDS_BETWEEN:
            self._last = now
            self._report(Progress(stage, rows, total, now - self._began, self._resumed))
