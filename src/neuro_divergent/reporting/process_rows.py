"""The processes of a run as rows of text, for tables."""

from __future__ import annotations

from collections.abc import Sequence

from neuro_divergent.core.formatting import UNDEFINED, format_bytes, format_number, format_percent
from neuro_divergent.runs.processes import ProcessSummary

COLUMNS = ("process", "host", "device", "samples per second", "own time per step", "waiting", "most memory", "")


def process_rows(processes: Sequence[ProcessSummary]) -> list[list[str]]:
    """Return a row for each process, with the columns in ``COLUMNS``; the last one says which is slow."""
    return [
        [
            str(process.rank),
            process.host,
            process.device,
            format_number(process.samples_per_second),
            UNDEFINED if process.busy_seconds is None else f"{format_number(1000 * process.busy_seconds)} ms",
            format_percent(process.waiting),
            UNDEFINED if process.memory_bytes is None else format_bytes(process.memory_bytes),
            f"slow: {process.slowdown:.1f} times the others" if process.is_straggler and process.slowdown else "",
        ]
        for process in processes
    ]
