"""Tables of a run that may be larger than memory: the rows of one series are read at a time."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage.regular_file import opened
from neuro_divergent.data.io.parquet_file import check_parquet
from neuro_divergent.runs.csv_blocks import CsvBlocks
from neuro_divergent.runs.series_index import SeriesIndex, index_series

_ROWS_AT_ONCE = 2**19
_MOST_ROWS = 2**31
_MOST_ROWS_OF_SERIES = 2**20
_SMALL = 4 * 1024**2  # bytes of a table that is kept in memory

Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp:
    """Return what changes when a regular file is replaced or written to: inode, time and size.

    Raises:
        UntrustedFileError: If it is missing, or not a regular file.
    """
    with opened(path) as handle:
        status = os.fstat(handle)
        return status.st_ino, status.st_mtime_ns, status.st_size


def open_series_table(path: Path, id: str, dtype: pl.DataType | None = None) -> SeriesTable:  # noqa: A002
    """Open a ``.parquet`` or ``.csv`` file; the arguments are those of ``SeriesTable``."""
    kind = ParquetSeriesTable if path.suffix == ".parquet" else CsvSeriesTable
    return kind(path, id, dtype)


class SeriesTable(ABC):
    """A table on disk, of which only the column of ids is read completely, and that piece by piece.

    The index is made when it is first used, and is then in memory. Errors are those of reading files. May be used by
    several threads.

    Args:
        path: A regular file.
        id: Name of the column of ids.
        dtype: Type of the ids, if the file has only text.

    Attributes:
        columns: The names of the columns.
        stamp: Of the file that was opened.
        is_text: Whether all values are text.
    """

    columns: tuple[str, ...]
    is_text: ClassVar[bool] = False

    def __init__(self, path: Path, id: str, dtype: pl.DataType | None = None) -> None:  # noqa: A002 (as in a schema)
        self.path, self.id, self.stamp = path, id, stamp_of(path)
        self.dtype = dtype
        self._index: SeriesIndex | None = None
        self._whole: pl.DataFrame | None = None
        self._lock = threading.Lock()  # the index is made once, whoever asks for it

    @property
    def index(self) -> SeriesIndex:
        """The series and their rows.

        Raises:
            UntrustedFileError: If the file was changed meanwhile.
        """
        with self._lock:
            if self._index is None:
                if self.id not in self.columns:
                    raise UntrustedFileError(f"{self.path}: there is no column {self.id!r}.")
                self._whole = self._read_small()
                found = index_series(self._ids() if self._whole is None else [self._whole[self.id]], self.dtype)
                self._require_same_file()
                self._index = found
            return self._index

    def rows_of(self, name: str) -> pl.DataFrame:
        """Return the rows of a series, at most the last million of them; none, if there is no such series.

        Raises:
            UntrustedFileError: If the file was changed since it was opened.
        """
        index = self.index
        ids = pl.col(self.id) if self.dtype is None else pl.col(self.id).cast(self.dtype, strict=False)
        is_series = ids.cast(pl.String) == name
        found = index.find(name)
        if self._whole is not None:
            rows = self._whole.filter(is_series)
        elif index.names.index_of(name) is None:
            rows = self._slice(0, 0)
        elif found is None:
            rows = self._filtered(is_series).tail(_MOST_ROWS_OF_SERIES)
        else:
            first, count = found
            skipped = max(0, count - _MOST_ROWS_OF_SERIES)
            rows = self._slice(first + skipped, count - skipped)
        self._require_same_file()
        return rows

    def _require_same_file(self) -> None:
        if stamp_of(self.path) != self.stamp:
            raise UntrustedFileError(f"{self.path}: changed while it was read.")

    @property
    def nbytes(self) -> int:
        """The bytes in memory: those of the index, once it is made, and of a small table."""
        whole = 0 if self._whole is None else int(self._whole.estimated_size())
        return whole if self._index is None else whole + self._index.nbytes

    @abstractmethod
    def _read_small(self) -> pl.DataFrame | None:
        """Return the table, if it is small."""

    @abstractmethod
    def _ids(self) -> Iterator[pl.Series]:
        """Give the column of ids piece by piece."""

    @abstractmethod
    def _slice(self, first: int, count: int) -> pl.DataFrame:
        """Return some rows."""

    @abstractmethod
    def _filtered(self, condition: pl.Expr) -> pl.DataFrame:
        """Return the rows that meet a condition."""


class ParquetSeriesTable(SeriesTable):
    """A Parquet file, read by pages and row groups.

    Attributes:
        rows: How many there are.
        unpacked_bytes: Bytes of all columns when they are no longer compressed.
    """

    def __init__(self, path: Path, id: str, dtype: pl.DataType | None = None) -> None:  # noqa: A002 (as in a schema)
        super().__init__(path, id, None)
        header = check_parquet(str(path), None)
        if header.rows > _MOST_ROWS:
            raise UntrustedFileError(f"{path}: {header.rows:,} rows, at most {_MOST_ROWS:,} are read.")
        self.rows, self.columns, self.unpacked_bytes = header.rows, header.columns, sum(header.sizes.values())

    @property
    def scan(self) -> pl.LazyFrame:
        """The rows, of which none is read yet."""
        return pl.scan_parquet(self.path, glob=False)

    def sample(self, rows: int, pieces: int = 32) -> tuple[pl.DataFrame, int]:
        """Return about so many rows from evenly spread places of the file, and the number of their series.

        Series are complete, unless one of them alone has more rows. Where the rows of series are not consecutive, those
        at the begin of the file are returned.
        """
        index = self.index
        if self.rows <= rows or index.first is None or index.count is None:
            frame = self._slice(0, rows)
            return frame, frame[self.id].n_unique()
        ends = index.first + index.count
        first = np.searchsorted(index.first, np.linspace(0, self.rows, pieces, endpoint=False).astype(np.int64))
        found, chosen = [], 0
        for place, following in zip(first, [*first[1:], len(ends)], strict=True):
            if place == following:
                continue
            begin = int(index.first[place])
            last = max(place, min(int(np.searchsorted(ends, begin + rows // pieces, "right")), following) - 1)
            found.append(self._slice(begin, min(int(ends[last]) - begin, rows)))
            chosen += int(last) - int(place) + 1
        self._require_same_file()
        return pl.concat(found), chosen

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[int, Ints, pl.DataFrame]]:
        """Give some columns in pieces of complete series: the number of the first, the rows of each, and the rows.

        The rows of a series must be consecutive.
        """
        first, count = self.index.first, self.index.count
        assert first is not None
        assert count is not None
        begin, rows = 0, self.scan.select(columns)
        while begin < len(first):
            end = max(begin + 1, int(np.searchsorted(first, first[begin] + _ROWS_AT_ONCE)))
            gaps = np.flatnonzero(
                first[begin + 1 : end] != first[begin : end - 1] + count[begin : end - 1]
            )  # rows without an id
            end = begin + 1 + int(gaps[0]) if len(gaps) else end
            yield begin, count[begin:end], rows.slice(int(first[begin]), int(count[begin:end].sum())).collect()
            begin = end
        self._require_same_file()

    def _read_small(self) -> pl.DataFrame | None:
        return self._slice(0, self.rows) if max(self.unpacked_bytes, 8 * self.rows) <= _SMALL else None

    def _ids(self) -> Iterator[pl.Series]:
        ids = self.scan.select(self.id)
        for begin in range(0, self.rows, _ROWS_AT_ONCE):
            yield ids.slice(begin, _ROWS_AT_ONCE).collect().to_series()

    def _slice(self, first: int, count: int) -> pl.DataFrame:
        return self.scan.slice(first, count).collect()

    def _filtered(self, condition: pl.Expr) -> pl.DataFrame:
        return self.scan.filter(condition).collect(engine="streaming")


class CsvSeriesTable(SeriesTable):
    """A CSV file, of which the index also has the places of blocks of some megabytes."""

    is_text = True

    def __init__(self, path: Path, id: str, dtype: pl.DataType | None = None) -> None:  # noqa: A002 (as in a schema)
        super().__init__(path, id, dtype)
        self._blocks = CsvBlocks(path)
        self.columns = self._blocks.columns
        self._bytes: list[int] = []  # where the blocks begin, and where the last one ends
        self._first: list[int] = []  # the first row of each, and how many rows there are

    def _read_small(self) -> pl.DataFrame | None:
        return self._blocks.read_all() if self.stamp[-1] <= _SMALL else None

    def _ids(self) -> Iterator[pl.Series]:
        self._bytes, self._first, rows = [], [], 0
        end = 0
        for begin, end, frame in self._blocks.blocks([self.id]):  # noqa: B007 (used after the last)
            self._bytes.append(begin)
            self._first.append(rows)
            rows += frame.height
            yield frame.to_series()
        self._bytes.append(end)
        self._first.append(rows)

    def _slice(self, first: int, count: int) -> pl.DataFrame:
        begin, end = np.searchsorted(self._first, [first, first + max(count, 1) - 1], "right") - 1
        if len(self._bytes) < 2:
            return self._blocks.read(0, 0)
        end = min(end + 1, len(self._bytes) - 1)
        return self._blocks.read(self._bytes[begin], self._bytes[end]).slice(first - self._first[begin], count)

    def _filtered(self, condition: pl.Expr) -> pl.DataFrame:
        found = [block.frame.filter(condition) for block in self._blocks]
        return pl.concat(found) if found else self._blocks.read(0, 0)
