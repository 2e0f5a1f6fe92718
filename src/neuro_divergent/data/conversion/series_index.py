"""All series of a table and how many rows each has, found in one pass over the names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.conversion.rows import Rows

_DENSE = 1 << 24
"""Range of integers that are counted in an array; others are counted in a hash table."""


class SeriesIndex:
    """The series of a table in their order, each with a code from 0 on.

    Args:
        ids: One value per series, sorted.
        counts: Rows of each.
    """

    def __init__(self, ids: pl.Series, counts: Ints) -> None:
        self.ids, self.counts = ids, counts
        self._enum = None if ids.dtype.is_integer() else pl.Enum(ids)
        self._texts = ids if self._enum is None else ids.cast(self._enum)
        self._table: Array | None = None
        self._numbers: Array | None = None
        if self._enum is None:
            self._numbers = ids.to_numpy()
            low, high = int(ids[0]), int(ids[-1])
            if high - low < _DENSE and low > -(2**62) and high < 2**62:
                self._table = np.zeros(high - low + 1, np.uint32)
                self._table[self._numbers.astype(np.int64) - low] = np.arange(len(ids), dtype=np.uint32)

    def codes(self, names: pl.Series) -> Array:
        """Return the code of each name."""
        if self._enum is not None:
            return names.cast(self._enum).to_physical().cast(pl.UInt32).to_numpy()
        numbers = names.to_numpy()
        if self._table is not None:
            codes: Array = self._table[numbers.astype(np.int64, copy=False) - int(self.ids[0])]
            return codes
        assert self._numbers is not None
        return np.searchsorted(self._numbers, numbers).astype(np.uint32)

    def names(self, codes: Array) -> pl.Series:
        """Return the names behind codes; of text as an enum, which takes no more memory than the codes."""
        if self._enum is not None:
            return self._texts.gather(codes)
        assert self._numbers is not None
        return pl.Series(self.ids.name, self._numbers[codes])

    def names_of(self, first: int, end: int) -> pl.Series:
        """Return the names of all rows of a range of series, sorted."""
        rows = np.repeat(np.arange(first, end, dtype=np.uint32), self.counts[first:end])
        return self.names(rows)

    def buckets(self, most: int) -> Ints:
        """Return codes that divide the series into ranges of at most so many rows; one series may have more."""
        ends = np.cumsum(self.counts)
        borders, done = [0], 0
        while borders[-1] < len(ends):
            end = int(np.searchsorted(ends, done + most, side="right"))
            borders.append(max(end, borders[-1] + 1))
            done = int(ends[borders[-1] - 1])
        return np.array(borders, np.int64)

    def save(self, path: Path) -> None:
        """Write the index to a file."""
        pl.DataFrame([self.ids.alias("id"), pl.Series("rows", self.counts)]).write_parquet(path)

    @classmethod
    def open(cls, path: Path, name: str) -> SeriesIndex:
        """Read an index that ``save`` wrote."""
        frame = pl.read_parquet(path)
        return cls(frame["id"].alias(name), frame["rows"].to_numpy())


def count_series(rows: Rows, batch: int, report: Callable[[int], None]) -> SeriesIndex:
    """Return the series of a table, in one pass over the column that names them.

    Raises:
        DataError: If a name is missing.
    """
    name = rows.id
    assert name is not None
    found: pl.DataFrame | None = None
    dense: Array | None = None
    low = 0
    for begin, frame in rows.batches(batch, only=[name]):
        names = frame[name]
        if missing := names.null_count():
            row = begin + int(names.is_null().arg_true()[0]) + 1
            raise DataError(
                f"{rows.name}: column {name!r}: {missing} missing, first row {row}; every row needs a series"
            )
        counted = None if not names.dtype.is_integer() else _count(names, dense, low)
        if counted is not None:
            dense, low = counted
        else:
            part = frame.group_by(name).len()
            found = part if found is None else pl.concat([found, part]).group_by(name).agg(pl.col("len").sum())
        report(begin + frame.height)
    if dense is not None:
        present = np.flatnonzero(dense)
        values = pl.Series(name, present + low).cast(rows.types[name])
        part = pl.DataFrame([values, pl.Series("len", dense[present])])
        part = part.with_columns(pl.col("len").cast(pl.UInt32))
        if found is None:
            found = part
        else:
            found = pl.concat([found.select(name, pl.col("len").cast(pl.UInt32)), part])
            found = found.group_by(name).agg(pl.col("len").sum())
    assert found is not None
    found = found.sort(name)
    return SeriesIndex(found[name], found["len"].cast(pl.Int64).to_numpy())


def _count(names: pl.Series, dense: Array | None, low: int) -> tuple[Array, int] | None:
    """Add the rows of each integer to an array of counts that begins at ``low``; ``None`` if it would be too wide."""
    least, most = int(names.min()), int(names.max())  # type: ignore[arg-type]
    begin = least if dense is None else min(least, low)
    end = most + 1 if dense is None else max(most + 1, low + len(dense))
    if end - begin > _DENSE or abs(begin) > 2**62 or end > 2**62:
        return None
    if dense is None or begin < low or end > low + len(dense):
        wider = np.zeros(end - begin, np.int64)
        if dense is not None:
            wider[low - begin : low - begin + len(dense)] = dense
        dense, low = wider, begin
    counts = np.bincount(names.to_numpy().astype(np.int64, copy=False) - least)
    dense[least - low : least - low + len(counts)] += counts
    return dense, low
