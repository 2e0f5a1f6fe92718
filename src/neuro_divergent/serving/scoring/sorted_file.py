"""Parquet files whose rows are sorted by series and time, read a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.parquet_file import PROBLEMS
from neuro_divergent.data.io.table import Table, first_line, run_borders
from neuro_divergent.serving.scoring.block import Block, Cutter, ascending
from neuro_divergent.serving.scoring.part import UnsortedError

_ROWS = 1 << 20  # rows that are read together


@dataclass(frozen=True)
class SortedFilePart:
    """The series of a Parquet file that begin in a range of its rows.

    Nothing is sorted and no series is looked up: a series ends where the next id begins. That the ids and the times of
    each series rise is checked.

    Attributes:
        path: The file.
        columns: Columns to read.
        cutter: What is kept of each series.
        name: Of the file of forecasts.
        fingerprint: Changes when the rows do.
        first: Row from which on series count.
        last: Row before which they begin; they may end after it.
        rows: Rows of the file.
    """

    path: str
    columns: tuple[str, ...]
    cutter: Cutter
    name: str
    fingerprint: str
    first: int
    last: int
    rows: int

    def blocks(self) -> Iterator[Block]:
        """Yield the series, about a million rows at a time.

        Raises:
            UnsortedError: If ids or times fall.
            DataError: If the file cannot be read.
        """
        try:
            yield from self._blocks()
        except PROBLEMS as error:
            raise DataError(f"{self.path}: not a complete Parquet file ({first_line(error)})") from None

    def _blocks(self) -> Iterator[Block]:
        lazy = scan_columns([self.path], self.columns, self.cutter.id)
        before = lazy.slice(self.first - 1, 1).collect()[self._id][0] if self.first else None
        is_inside = self.first > 0  # Perhaps of a series that began before, which belongs to another part.
        rest, position = lazy.slice(0, 0).collect(), self.first
        while position < self.rows and (position < self.last or rest.height):
            begin = position - rest.height
            block = lazy.slice(position, _ROWS).collect()
            position += block.height
            if block[self._id].null_count():
                raise UnsortedError(self.path)
            if is_inside:
                others = np.flatnonzero((block[self._id] != before).to_numpy())
                begin += int(others[0]) if len(others) else block.height
                block, is_inside = block.slice(others[0]) if len(others) else block.clear(), not len(others)
            frame = block if rest.is_empty() else pl.concat([rest, block])
            if frame.is_empty():
                continue
            offsets = run_borders(frame[self._id])
            end = frame.height if position >= self.rows else int(offsets[-2])  # The last series may go on.
            later = np.flatnonzero(offsets[:-1] + begin >= self.last)
            if len(later):
                end, position = min(end, int(offsets[later[0]])), self.rows
            self._check_ids(frame[self._id][offsets[:-1]], before)
            rest = frame.slice(end) if position < self.rows else frame.clear()
            if end:
                before = frame[self._id][end - 1]
                found = self._block(frame.head(end), offsets[offsets <= end], begin)
                if found is not None:
                    yield found

    @property
    def _id(self) -> str:
        assert self.cutter.id is not None
        return self.cutter.id

    def _check_ids(self, firsts: pl.Series, before: Any) -> None:
        rising = firsts.is_sorted() and firsts.n_unique() == len(firsts)
        if not rising or (before is not None and firsts[0] <= before):
            raise UnsortedError(self.path)

    def _block(self, frame: pl.DataFrame, offsets: Ints, begin: int) -> Block | None:
        """Return series, which begin at some row of the file, as a block; ``None`` where none was known as yet."""
        name = f"{self.path} from row {begin + 1}" if begin else self.path
        cutter = self.cutter

        def table(rows: pl.DataFrame) -> Table:
            return Table(rows, name, "polars", self.columns, date_format=cutter.schema.date_format)

        given = table(frame)
        times = frame[cutter.schema.time]
        if times.null_count():
            return Block(None, lambda: given)  # The message will name the row.
        if times.dtype == pl.String:
            times = check_times(times, given.error, cutter.schema.date_format)
        if not ascending(times, offsets[1:-1]):
            raise UnsortedError(self.path)
        if cutter.as_of is not None:
            kept = times <= cutter.limit(times)
            counts = np.add.reduceat(kept.to_numpy(), offsets[:-1], dtype=np.int64)
            frame, offsets = frame.filter(kept), np.concatenate([[0], np.cumsum(counts[counts > 0])])
            if frame.is_empty():
                return None
        tail = cutter.tail(frame, offsets)
        return Block(None if tail is None else table(tail), lambda: table(frame))


def scan_columns(files: list[str], columns: tuple[str, ...], id_column: str | None) -> pl.LazyFrame:
    """Scan some columns of Parquet files; ids that are no integers are text, since categories of files differ."""
    lazy = pl.scan_parquet(files, glob=False).select(columns)
    if id_column is not None and not lazy.collect_schema()[id_column].is_integer():
        lazy = lazy.with_columns(pl.col(id_column).cast(pl.String))
    return lazy
