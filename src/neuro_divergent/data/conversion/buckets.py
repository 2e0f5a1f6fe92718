"""Rows in any order, distributed over runs on disk by ranges of series.

A run holds consecutive rows of the table, sorted by bucket: a range of series that fits in memory. A bucket is read
from one place of each run. Runs are complete or absent, so a killed conversion goes on with the next one.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.conversion.rows import Rows
from neuro_divergent.data.conversion.series_index import SeriesIndex
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.sort_order import sort_order

_CODE = "code"
_NO_CATEGORY = 2**32 - 1
_UNKNOWN_TRUTH = 2
_ALIGNMENT = 64


class Buckets:
    """The runs of a table.

    Args:
        rows: The table.
        index: Its series.
        categories: Values of each categorical column.
        directory: Where the runs are.
        size: Rows of a run, and about the rows of a bucket.
    """

    def __init__(
        self, rows: Rows, index: SeriesIndex, categories: dict[str, list[Any]], directory: Path, size: int
    ) -> None:
        self.rows, self.index, self.directory, self.size = rows, index, directory, size
        self.borders = index.buckets(size)
        self._texts = {
            name: pl.Enum(values)
            for name, values in categories.items()
            if rows.types[name] == pl.String  # numbers are stored as they are
        }
        places = np.searchsorted(self.borders[1:-1], np.arange(len(index.ids)), side="right")
        self._bucket_of = places.astype(np.min_scalar_type(len(self) - 1))
        self._code_type = np.uint16 if int(np.diff(self.borders).max()) <= 2**16 else np.uint32
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return len(self.borders) - 1

    def write(self, report: Callable[[int], None]) -> None:
        """Write the runs that are not there yet, and open all.

        Raises:
            DataError: If a name or a time cannot be used.
            OSError: If the disk refuses.
        """
        self.directory.mkdir(exist_ok=True)
        _allow_files(len(self.rows) // self.size + 100)
        for number, begin in enumerate(range(0, len(self.rows), self.size)):
            path = self.directory / f"run-{number:06d}"
            if not path.exists():
                self._write(path, self.rows.read(begin, self.size), begin)
            self._runs.append(_Run(path))
            report(min(begin + self.size, len(self.rows)))

    def table(self, bucket: int, only: Sequence[str] | None = None) -> Table:
        """Return the rows of a bucket, sorted by series; rows of one series stay in the order of the table."""
        order = sort_order(self._column(_CODE, bucket)).astype(np.uint32)
        columns: list[pl.Series] = []
        for name in self.rows.types:
            if only is not None and name not in only:
                continue
            if name == self.rows.id:
                columns.append(self.index.names_of(*self.borders[bucket : bucket + 2]).alias(name))
            else:
                # polars gathers in a third of the time of numpy.
                columns.append(self._unpack(name, pl.Series(name, self._column(_stored(name), bucket))[order]))
        return self.rows.table(pl.DataFrame(columns))

    def table_with_rows(self, bucket: int) -> Table:
        """Return the same rows, read from the table again, with their places in it; for messages."""
        frames, places, codes = [], [], []
        low, high = self.borders[bucket : bucket + 2]
        assert self.rows.id is not None
        for begin, frame in self.rows.batches(self.size):
            found = self.index.codes(frame[self.rows.id])
            inside = np.flatnonzero((found >= low) & (found < high))
            frames.append(frame[inside])
            places.append(inside + begin)
            codes.append(found[inside])
        order = sort_order(np.concatenate(codes) - np.uint32(low))
        return dataclasses.replace(self.rows.table(pl.concat(frames)[order]), rows=np.concatenate(places)[order])

    def close(self) -> None:
        """Close the files of the runs."""
        for run in self._runs:
            run.close()
        self._runs = []

    def _column(self, name: str, bucket: int) -> Array:
        """Return a column of a bucket, run after run, in a type that has room for all of them."""
        kinds = [run.columns[name][0] for run in self._runs]
        kind = kinds[0] if len(set(kinds)) == 1 else np.result_type(*kinds)
        ends = np.cumsum([run.count(bucket) for run in self._runs])
        values = np.empty(int(ends[-1]), kind)
        for run, end in zip(self._runs, ends, strict=True):
            run.read(name, bucket, values[end - run.count(bucket) : end])
        return values

    def _write(self, path: Path, frame: pl.DataFrame, begin: int) -> None:
        """Write the run of some rows."""
        name, time = self.rows.id, self.rows.schema.time
        assert name is not None
        if missing := frame[time].null_count():
            row = begin + int(frame[time].is_null().arg_true()[0]) + 1
            message = f"column {time!r}: {missing} missing, first row {row}; every row needs a time"
            raise DataError(f"{self.rows.name}: {message}")
        codes = self.index.codes(frame[name])
        numbers = self._bucket_of[codes]
        order = sort_order(numbers)
        firsts = self.borders[:-1].astype(np.uint32)
        columns = {_CODE: (codes - firsts[numbers]).astype(self._code_type)[order]}
        for column in frame.drop(name).rechunk()[order.astype(np.uint32)]:  # from pieces it takes longer
            columns[_stored(column.name)] = self._pack(column)
        _write_run(path, columns, np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(self)))]))

    def _pack(self, column: pl.Series) -> Array:
        """Return a column as an array without missing values: they become NaN or a value that stands for them.

        Numbers become what they are in a panel. Where one is too large for that, the table is read again for the
        message.
        """
        if column.name in self._texts:
            codes = column.cast(self._texts[column.name]).to_physical().cast(pl.UInt32)
            return codes.fill_null(_NO_CATEGORY).to_numpy()
        if column.dtype == pl.Boolean:
            return column.cast(pl.UInt8).fill_null(_UNKNOWN_TRUTH).to_numpy()
        if column.name == self.rows.schema.time:
            return column.to_physical().to_numpy()
        if column.name not in self.rows.schema.categorical:
            with np.errstate(over="ignore"):
                return column.to_numpy().astype(np.float32)
        if column.dtype.is_integer() and column.null_count():
            return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        return column.fill_null(np.nan).to_numpy() if column.dtype.is_float() else column.to_numpy()

    def _unpack(self, name: str, values: pl.Series) -> pl.Series:
        dtype = self.rows.types[name]
        if name in self._texts:
            known = pl.Series(name, self._texts[name].categories, self._texts[name])
            return known.gather(values.set(values == _NO_CATEGORY, None))
        if dtype == pl.Boolean:
            return (values == 1).set(values == _UNKNOWN_TRUTH, None)
        if name == self.rows.schema.time and self.rows.time_type.is_temporal():
            return values.cast(self.rows.time_type)
        return values


def _stored(name: str) -> str:
    """Return how a column of the table is called in a run, where the codes of series have a name of their own."""
    return f"column {name}"


class _Run:
    """One run; its file stays open."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        length = int.from_bytes(self._file.read(8), "little")
        header = json.loads(self._file.read(length))
        self.borders: Ints = np.array(header["borders"], np.int64)
        self.columns = {name: (np.dtype(kind), int(offset)) for name, kind, offset in header["columns"]}

    def count(self, bucket: int) -> int:
        """Return how many rows of a bucket are in this run."""
        return int(self.borders[bucket + 1] - self.borders[bucket])

    def read(self, name: str, bucket: int, into: Array) -> None:
        """Read a column of a bucket."""
        kind, offset = self.columns[name]
        values = into if into.dtype == kind else np.empty(len(into), kind)
        self._file.seek(offset + int(self.borders[bucket]) * kind.itemsize)
        left = values.view(np.uint8).data
        while len(left):
            done = self._file.readinto(left)
            if not done:
                raise DataError(f"{self._file.name}: is cut off. Begin the conversion again (--restart)")
            left = left[done:]
        if values is not into:
            into[:] = values

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _write_run(path: Path, columns: dict[str, Array], borders: Ints) -> None:
    """Write a run, complete or not at all; only if the system crashes, it may be incomplete."""
    listed: list[tuple[str, str, int]] = []
    place = 0
    for name, values in columns.items():
        listed.append((name, values.dtype.str, place))
        place += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
    room = -(-(len(json.dumps(listed)) + len(json.dumps(borders.tolist())) + 200 + 20 * len(listed)) // _ALIGNMENT)
    base = (room + 1) * _ALIGNMENT
    header = {"columns": [[name, kind, base + offset] for name, kind, offset in listed], "borders": borders.tolist()}
    content = json.dumps(header).encode()
    content = len(content).to_bytes(8, "little") + content
    assert len(content) <= base
    work = path.with_suffix(".partial")
    with work.open("wb") as file:
        file.write(content.ljust(base, b"\0"))
        for values in columns.values():
            data = np.ascontiguousarray(values)
            file.write(data.data)
            file.write(b"\0" * (-data.nbytes % _ALIGNMENT))
    work.rename(path)


def _allow_files(count: int) -> None:
    """Let this process open more files, where it may."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < count + 100:
        wanted = count + 100 if most == resource.RLIM_INFINITY else min(count + 100, most)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
