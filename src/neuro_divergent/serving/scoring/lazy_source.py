"""Sources in any order: tables that polars scans, whose series are divided by their ids.

The last time of each series is found first. Then some series at a time are read, from the earliest row that one of them
needs on; files and row groups that have neither these ids nor these times are skipped by polars.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.parquet_file import PROBLEMS
from neuro_divergent.data.io.table import Table, first_line
from neuro_divergent.serving.scoring.block import Block, Cutter, has_holes, take

_ROWS = 4 << 20  # rows of a part
_END, _COUNT = "_end", "_rows"


@dataclass(frozen=True)
class LazySource:
    """A table that polars scans.

    Attributes:
        lazy: The table, with the needed columns; ids are text or integers.
        label: What messages call it.
        identity: Text that changes when the source is another one.
        cutter: What is kept of each series.
        frequency: Step between rows.
        name: Of the files of forecasts, followed by a number.
    """

    lazy: pl.LazyFrame
    label: str
    identity: str
    cutter: Cutter
    frequency: Frequency
    name: str = "part"

    def parts(self, *, single: bool = False) -> list[SeriesPart]:
        """Divide the series by their ids into parts of about four million rows; ``single`` makes one part.

        Raises:
            DataError: If the table cannot be read or has no rows.
        """
        ends = self.collect(self._ends())
        if not ends[_COUNT].sum():
            raise DataError(f"{self.label}: no data rows")
        kept = ends[_COUNT].to_numpy()
        if self.cutter.history is not None and self._can_cut:
            kept = np.minimum(kept, self.cutter.history)
        number = np.zeros(len(kept), np.int64) if single else (np.cumsum(kept) - kept) // _ROWS
        borders = np.flatnonzero(np.diff(number, prepend=-1, append=-1))
        pairs = list(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True))
        names = [self.name] if len(pairs) == 1 else [f"{self.name}-{place:05d}" for place in range(len(pairs))]
        return [SeriesPart(self, ends.slice(a, b - a), name) for (a, b), name in zip(pairs, names, strict=True)]

    def collect(self, lazy: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on the table, without keeping more of it in memory than needed."""
        try:
            return lazy.collect(engine="streaming")
        except PROBLEMS as error:
            raise DataError(f"{self.label}: cannot be read ({first_line(error)})") from None

    @property
    def known(self) -> pl.LazyFrame:
        """The rows that were known at ``as_of``."""
        cutter = self.cutter
        if cutter.as_of is None:
            return self.lazy
        if not self._can_cut:
            raise DataError(f"{self.label}: column {cutter.schema.time!r} is text; as_of needs dates or integers there")
        times = pl.Series(cutter.schema.time, [], self.lazy.collect_schema()[cutter.schema.time])
        return self.lazy.filter(pl.col(cutter.schema.time) <= cutter.limit(times))

    @property
    def _can_cut(self) -> bool:
        """Whether times can be compared: text is parsed later."""
        return self.lazy.collect_schema()[self.cutter.schema.time] != pl.String

    def _ends(self) -> pl.LazyFrame:
        name, time = self.cutter.id, pl.col(self.cutter.schema.time)
        found = [time.max().alias(_END), pl.len().alias(_COUNT)]
        return self.known.select(found) if name is None else self.known.group_by(name).agg(found).sort(name)


@dataclass(frozen=True)
class SeriesPart:
    """Some series of a source.

    Attributes:
        source: The table.
        ends: Id, last time and number of rows of each series, sorted by id.
        name: Of the file of forecasts.
    """

    source: LazySource
    ends: pl.DataFrame
    name: str

    @property
    def fingerprint(self) -> str:
        """Digest of the source's identity and of the ends of the series."""
        digest = hashlib.sha256(self.source.identity.encode())
        for column in self.ends:
            digest.update("\n".join(map(str, column.to_list())).encode())
        return digest.hexdigest()

    def blocks(self) -> Iterator[Block]:
        """Yield the series as one block."""
        if self._ids is not None and self._ids.null_count():
            yield Block(None, self._whole)  # The message will name the row.
            return
        tail = self._tail()
        yield Block(None if tail is None else self._table(tail), self._whole)

    @property
    def _ids(self) -> pl.Series | None:
        return None if self.source.cutter.id is None else self.ends[self.source.cutter.id]

    def _rows(self) -> pl.LazyFrame:
        lazy, ids = self.source.known, self._ids
        if ids is None or ids.null_count():
            return lazy
        return lazy.filter(pl.col(ids.name).is_between(pl.lit(ids[0]), pl.lit(ids[-1])))

    def _whole(self) -> Table:
        return self._table(self.source.collect(self._rows()))

    def _table(self, frame: pl.DataFrame) -> Table:
        cutter = self.source.cutter
        columns = tuple(self.source.lazy.collect_schema().names())
        return Table(frame, self.source.label, "polars", columns, date_format=cutter.schema.date_format)

    def _tail(self) -> pl.DataFrame | None:
        """Return the last rows of each series; ``None`` where all are needed."""
        cutter, begins = self.source.cutter, self._begins()
        if begins is None:
            return None
        time = cutter.schema.time
        frame = self.source.collect(self._rows().filter(pl.col(time) >= begins.min()))
        frame = frame.sort([time] if cutter.id is None else [cutter.id, time], maintain_order=True)
        offsets = self._offsets(frame)
        firsts, counts = take(frame, offsets[:-1]), np.diff(offsets)
        cut = counts < self.ends[_COUNT].to_numpy()
        # A series that has earlier rows must have one where its window begins, or what is filled in there is not known.
        if ((firsts[time] > begins).to_numpy() & cut).any() or (
            cutter.schema.missing != "error" and has_holes(firsts.filter(pl.Series(cut)))
        ):
            return None
        return cutter.tail(frame, offsets)

    def _begins(self) -> pl.Series | None:
        """Return where the last window of each series begins; ``None`` where windows do not say what is needed."""
        cutter, ends = self.source.cutter, self.ends[_END]
        if cutter.history is None or ends.dtype == pl.String or ends.null_count():
            return None
        try:
            return self.source.frequency.time_at(ends, np.full(len(ends), 1 - cutter.history))
        except (DataError, *PROBLEMS):  # Times between two steps; the message about them comes from all rows.
            return None

    def _offsets(self, frame: pl.DataFrame) -> Ints:
        ids = self._ids
        if ids is None:
            return np.array([0, frame.height])
        counts = frame.group_by(ids.name, maintain_order=True).agg(pl.len())["len"].to_numpy()
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def digest_of(*items: Any) -> str:
    """Return the digest of some values, by their text."""
    return hashlib.sha256("\n".join(map(str, items)).encode()).hexdigest()
