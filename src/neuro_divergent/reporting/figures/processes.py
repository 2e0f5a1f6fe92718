"""The figure of the processes that train a run together."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.reporting.figures.columns import floats_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Figure, Line
from neuro_divergent.reporting.sampling import min_max

MOST_LINES = 8
_BUCKETS = 200


def processes_figure(processes: Any) -> Figure:
    """Show over training how long the own part of a step takes each process.

    Args:
        processes: What ``runs.processes.processes_of`` returns: ``step``, ``rank``, ``host`` and ``busy_seconds``. Of
            more than 8 processes, those with the longest time are shown.
    """
    frame = read_columns(processes, ("step", "rank", "host", "busy_seconds"), "processes")
    frame = frame.filter(pl.col("busy_seconds").is_finite())
    if not frame.height:
        raise InputError("processes: nothing was recorded of several processes.")
    medians = frame.group_by("rank").agg(pl.col("busy_seconds").median(), pl.col("host").last())
    slowest = medians.sort("busy_seconds", descending=True)
    shown = slowest.head(MOST_LINES).sort("rank")
    lines = [
        Line(*_curve(frame.filter(rank=rank)), label=f"process {rank} on {host}")
        for rank, _, host in shown.select("rank", "busy_seconds", "host").iter_rows()
    ]
    first, last = slowest.row(0, named=True), slowest.row(-1, named=True)
    left_out = f"The {len(lines)} slowest of {format_count(slowest.height, 'process', 'processes')}. "
    return Figure(
        title="Time of a step in each process",
        marks=tuple(lines),
        x=Axis("steps of training"),
        y=Axis("milliseconds per step", from_zero=True),
        note=f"{left_out if slowest.height > len(lines) else ''}Time without exchanges with other processes. All wait "
        "for the one that takes longest.",
        alt_text=f"By its median, process {first['rank']} takes longest ({_milliseconds(first)} per step), process "
        f"{last['rank']} least ({_milliseconds(last)}).",
    )


def _curve(frame: pl.DataFrame) -> tuple[Array, Array]:
    steps, order = np.unique(floats_of(frame["step"]), return_index=True)
    return min_max(steps, 1000 * floats_of(frame["busy_seconds"])[order], _BUCKETS)


def _milliseconds(row: dict[str, Any]) -> str:
    return f"{format_number(1000 * row['busy_seconds'])} ms"
