"""Whole series of a table whose rows are sorted by series, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from neuro_divergent.data.conversion.rows import Rows
from neuro_divergent.data.io.table import Table

_LOOK = 1 << 12
_KEPT = 8  # Rows of an unfinished series are kept if they are at least such a part of a batch.


def series_parts(
    rows: Rows, batch: int, begin: int = 0, only: Sequence[str] | None = None
) -> Iterator[tuple[Table, int]]:
    """Yield tables of consecutive rows that end where a series ends, about ``batch`` rows each, and the row after each.

    A series that goes on over several batches is yielded in one piece. A series whose rows are not consecutive is in
    several tables: whoever assembles them sees names that are not in ascending order.
    """
    name = rows.id
    first, place, pending = begin, begin, list[pl.DataFrame]()
    while place < len(rows):
        frame = rows.read(place, batch, only)
        end = place + frame.height
        if name is None or end == len(rows):
            cut = 0 if name is None else frame.height
        elif frame[name].null_count():
            cut = frame.height  # Whoever assembles a table refuses missing names.
        else:
            cut = _begin_of_last(frame[name])
        if not cut and pending and name is not None and pending[-1][name][-1] != frame[name][0]:
            yield rows.table(_join(pending), first), place
            first, pending = place, []
        if cut:
            yield rows.table(_join([*pending, frame.head(cut)]), first), place + cut
            first, pending = place + cut, []
            frame = frame.slice(cut)
        if frame.height * _KEPT < batch and end < len(rows) and not pending:
            end -= frame.height  # Reading few rows again takes less than copying all to join them.
        elif frame.height:
            pending.append(frame)
        place = end
    if pending:
        yield rows.table(_join(pending), first), len(rows)


def _join(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def _begin_of_last(names: pl.Series) -> int:
    """Return where the last run of equal names begins; the series it belongs to may go on in the next rows."""
    last, size = names[-1], _LOOK
    while True:
        others = np.flatnonzero((names.tail(size) != last).to_numpy())
        if len(others):
            return len(names) - min(size, len(names)) + int(others[-1]) + 1
        if size >= len(names):
            return 0
        size *= 8
