"""The processes that train a run together, and which of them the others wait for.

Nothing here needs torch.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from neuro_divergent.runs.events import VOIDING
from neuro_divergent.runs.values import number

PROCESSES = "processes"
"""Name of the events that describe them."""
KINDS = ("start", PROCESSES, "rolled_back")
"""Events that a ``ProcessTable`` reads."""

ROWS = 20  # of the history that count, the last ones
LEAST_ROWS = 3  # before one counts as a straggler
SLOW = 1.3  # times the busy time of the others
LEAST_SECONDS = 0.001  # more than the others in a step; process 0 has the run directory to look after

_MOST_LETTERS = 100
_NUMBERS = ("samples_per_second", "busy_seconds", "waiting", "memory_bytes")
_SCHEMA = {
    "start": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "host": pl.String,
    "device": pl.String,
    **dict.fromkeys(_NUMBERS, pl.Float64),
}


@dataclass(frozen=True)
class ProcessSummary:
    """One of several processes, by the medians of its last rows; what is not known is ``None``.

    Attributes:
        rank: Its number, from 0.
        host: Name of its machine.
        device: Where it computes.
        samples_per_second: Samples of its own that it trains on.
        busy_seconds: Time of a step without exchanges with other processes.
        waiting: Fraction of the time in exchanges with other processes.
        memory_bytes: The most memory that it had.
        slowdown: Its busy time divided by the median of that of the others.
        is_straggler: Whether the others wait for it.
    """

    rank: int
    host: str
    device: str
    samples_per_second: float | None
    busy_seconds: float | None
    waiting: float | None
    memory_bytes: float | None
    slowdown: float | None = None
    is_straggler: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


class ProcessTable:
    """Collects what events say about processes, also bit by bit."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._starts = 0

    def add(self, events: Iterable[dict[str, Any]]) -> None:
        """Add events of the kinds in ``KINDS``; others, and those that are damaged, are left out."""
        for event in events:
            if event["event"] in VOIDING:
                while self._rows and self._rows[-1][1] > event["step"]:
                    self._rows.pop()
            if event["event"] == "start":
                self._starts += 1
            elif event["event"] == PROCESSES:
                columns = [event.get(name) for name in ("host", "device", *_NUMBERS)]
                lists = [column for column in columns if isinstance(column, list)]
                if len(lists) == len(columns) and len({len(column) for column in lists}) == 1:
                    for rank, (host, device, *numbers) in enumerate(zip(*lists, strict=True)):
                        place = (
                            self._starts,
                            event["step"],
                            rank,
                            str(host)[:_MOST_LETTERS],
                            str(device)[:_MOST_LETTERS],
                        )
                        self._rows.append((*place, *map(number, numbers)))

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each process and row of the history.

        Columns: ``start`` (which start of the run it was), ``step``, ``rank``, ``host``, ``device``,
        ``samples_per_second``, ``busy_seconds``, ``waiting`` and ``memory_bytes``.
        """
        return pl.DataFrame(self._rows, schema=_SCHEMA, orient="row")


def processes_of(events: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return the ``frame`` of a ``ProcessTable`` with these events."""
    table = ProcessTable()
    table.add(events)
    return table.frame


def summarize_processes(frame: pl.DataFrame | None) -> list[ProcessSummary]:
    """Return the processes of the last start of a run in their order; none if there is but one process.

    One is a straggler if over the last 20 rows, and at least 3, its median busy time is 1.3 times the median of that of
    the others or more, and a millisecond longer. With two processes the other one is the median.
    """
    if frame is None or not frame.height:
        return []
    frame = frame.filter(pl.col("start") == frame["start"][-1])
    steps = frame["step"].unique().sort().tail(ROWS)
    frame = frame.filter(pl.col("step") >= steps[0])
    found = frame.group_by("rank", maintain_order=True).agg(
        pl.col("host", "device").last(),
        *(pl.col(name).median() for name in _NUMBERS[:-1]),
        pl.col("memory_bytes").max(),
    )
    processes = [ProcessSummary(**row) for row in found.sort("rank").to_dicts()]
    return [_judged(process, processes, len(steps)) for process in processes] if len(processes) > 1 else []


def stragglers_of(processes: Sequence[ProcessSummary]) -> list[ProcessSummary]:
    """Return those that the others wait for, the slowest first."""
    found = [process for process in processes if process.is_straggler]
    return sorted(found, key=lambda process: -(process.slowdown or 0.0))


def describe_straggler(process: ProcessSummary) -> str:
    """Return a sentence about a straggler."""
    return (
        f"Process {process.rank} on host {process.host} takes {process.slowdown or 0.0:.1f} times as long per step as "
        "the others, which wait for it."
    )


def _judged(process: ProcessSummary, all_: Sequence[ProcessSummary], rows: int) -> ProcessSummary:
    """Return a process compared with the others."""
    others = [item.busy_seconds for item in all_ if item is not process and item.busy_seconds is not None]
    if process.busy_seconds is None or not others:
        return process
    usual = statistics.median(others)
    slowdown = process.busy_seconds / usual if usual > 0 else None
    is_slow = slowdown is not None and slowdown >= SLOW and process.busy_seconds - usual >= LEAST_SECONDS
    values = {**process.to_dict(), "slowdown": slowdown, "is_straggler": is_slow and rows >= LEAST_ROWS}
    return ProcessSummary(**values)
