"""Read-only rows of several arrays, end to end, without copying them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from neuro_divergent.core.arrays import Array, Ints

_LONG = 256  # rows of a piece, on average, from which on pieces are copied one by one


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where the rows of a joined array are: consecutive pieces of other arrays.

    Attributes:
        bounds: First row of each piece, and the end: one more than there are pieces. No piece is empty.
        sources: Which array each piece is of.
        firsts: Its first row there.
        steps: 1 where the rows of a piece follow each other in its array, 0 where all are the same row.
    """

    bounds: Ints
    sources: Ints
    firsts: Ints
    steps: Ints

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def counts(self) -> Ints:
        """Number of rows of each piece."""
        counts: Ints = self.bounds[1:] - self.bounds[:-1]
        return counts

    @staticmethod
    def of(sources: Ints, firsts: Ints, counts: Ints, steps: Ints | None = None) -> Pieces:
        """Return pieces with some numbers of rows, without empty ones; neighbours that follow each other are joined."""
        steps = np.ones(len(sources), np.int64) if steps is None else steps
        there = counts > 0
        if not there.all():
            sources, firsts, counts, steps = sources[there], firsts[there], counts[there], steps[there]
        if len(sources) > 1:
            follows = (sources[1:] == sources[:-1]) & (steps[1:] == steps[:-1])
            follows &= firsts[1:] == firsts[:-1] + steps[:-1] * counts[:-1]
            if follows.any():
                heads = np.flatnonzero(np.concatenate([[True], ~follows]))
                counts = np.add.reduceat(counts, heads)
                sources, firsts, steps = sources[heads], firsts[heads], steps[heads]
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)
        return Pieces(bounds, sources, firsts, steps)

    def find(self, rows: Ints) -> Ints:
        """Return the piece of each row."""
        if len(self) == 1:
            return np.zeros(rows.shape, np.int64)
        return np.searchsorted(self.bounds, rows, side="right").astype(np.int64, copy=False) - 1

    def split(self, rows: Ints, counts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the parts of segments that lie in one piece each: piece, first row in its array, count and segment.

        Segments are given by their first rows and numbers of rows; none is empty.
        """
        low, high = self.find(rows), self.find(rows + counts - 1)
        times = high - low + 1
        segment = np.repeat(np.arange(len(rows)), times)
        place = np.arange(len(segment)) - np.repeat(np.cumsum(times) - times, times)
        piece = low[segment] + place
        begins = np.maximum(rows[segment], self.bounds[piece])
        ends = np.minimum((rows + counts)[segment], self.bounds[piece + 1])
        firsts = self.firsts[piece] + self.steps[piece] * (begins - self.bounds[piece])
        return piece, firsts, ends - begins, segment


class JoinedArray:
    """A read-only array whose rows are pieces of several arrays that agree in type and in all but the first dimension.

    It can be indexed like a NumPy array along the first dimension: by an integer, a slice, integers or booleans, each
    followed by a column or a slice of columns where there are some. A slice inside one piece is a view, all else is a
    copy. ``np.asarray`` copies all rows.

    Args:
        arrays: The arrays, in memory or mapped.
        pieces: Where the rows are.
    """

    def __init__(self, arrays: Sequence[Array], pieces: Pieces) -> None:
        self.arrays = tuple(arrays)
        self.pieces = pieces
        self.dtype = self.arrays[0].dtype
        self.shape: tuple[int, ...] = (int(pieces.bounds[-1]), *self.arrays[0].shape[1:])
        self.ndim = len(self.shape)
        self._views: dict[tuple[int, int], Array] = {}

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"JoinedArray({len(self.arrays)} arrays, {len(self.pieces)} pieces, shape={self.shape}, {self.dtype})"

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes that the values take when they are in memory."""
        return self.size * int(self.dtype.itemsize)

    @property
    def T(self) -> Array:  # noqa: N802 - as NumPy has it
        """The transposed values, in memory."""
        return self._range(0, len(self)).T

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        """Return all values in memory, with another type."""
        return self._range(0, len(self)).astype(dtype, copy=copy)

    def copy(self) -> Array:
        """Return all values in memory."""
        return np.array(self[:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a joined array cannot be a NumPy array without being copied")
        values = self[:]
        return np.array(values if dtype is None else values.astype(dtype, copy=False))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            rows, rest = key[0], key[1:]
            if not rest:
                return self[rows]
            if not all(isinstance(item, (int, np.integer, slice)) for item in rest):
                raise TypeError("columns of a joined array are chosen by an integer or a slice")
            return JoinedArray([array[(slice(None), *rest)] for array in self.arrays], self.pieces)[rows]
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            return self._range(begin, end) if step == 1 else self._rows(np.arange(begin, end, step))
        if isinstance(key, (int, np.integer)):
            row = int(key) + (len(self) if key < 0 else 0)
            if not 0 <= row < len(self):
                raise IndexError(f"row {key} of {len(self)}")
            return self._range(row, row + 1)[0]
        rows = np.asarray(key)
        if rows.dtype == np.bool_:
            if rows.shape != (len(self),):
                raise IndexError(f"{rows.shape} booleans for {len(self)} rows")
            return self._rows(np.flatnonzero(rows))
        rows = rows.astype(np.int64, copy=False)
        if rows.size and (rows.min() < -len(self) or rows.max() >= len(self)):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of {len(self)}")
        return self._rows(np.where(rows < 0, rows + len(self), rows) if rows.size and rows.min() < 0 else rows)

    def cut(self, rows: Ints, size: int) -> Array:
        """Return a copy of ``size`` rows from each row on, ``(len(rows), size, ...)``."""
        rows = np.asarray(rows, np.int64)
        found = np.empty((len(rows), size, *self.shape[1:]), self.dtype)
        if not (len(rows) and size):
            return found
        if rows.min() < 0 or rows.max() + size > len(self):
            raise IndexError(f"{size} rows from rows {rows.min()} to {rows.max()} on, of {len(self)}")
        pieces = self.pieces
        piece = pieces.find(rows)
        inside = (rows + size <= pieces.bounds[piece + 1]) & (pieces.steps[piece] == 1)
        firsts, sources = pieces.firsts[piece] + rows - pieces.bounds[piece], pieces.sources[piece]
        for source in np.unique(sources[inside]):
            chosen = inside & (sources == source)
            windows = self._windows(int(source), size)
            if chosen.all():
                found[:] = windows[firsts]
            else:
                found[chosen] = windows[firsts[chosen]]
        if not inside.all():
            found[~inside] = self._rows(rows[~inside][:, None] + np.arange(size))
        return found

    def spans(self, rows: Ints, size: int) -> list[tuple[Array, Ints, Ints]]:
        """Return which rows of the underlying arrays ``size`` rows from each row on are: array, first rows, counts."""
        rows = np.asarray(rows, np.int64)
        if not (len(rows) and size):
            return []
        piece, firsts, counts, _ = self.pieces.split(rows, np.full(len(rows), size))
        counts = np.where(self.pieces.steps[piece] == 1, counts, 1)
        sources = self.pieces.sources[piece]
        return [
            (self.arrays[source], firsts[chosen], counts[chosen])
            for source in np.unique(sources)
            for chosen in [sources == source]
        ]

    def segments(self, rows: Ints, counts: Ints) -> Array | JoinedArray:
        """Return segments of this array, end to end, without copying them."""
        there = counts > 0
        if not there.all():
            rows, counts = rows[there], counts[there]
        piece, firsts, lengths, _ = self.pieces.split(rows, counts)
        return joined(self.arrays, Pieces.of(self.pieces.sources[piece], firsts, lengths, self.pieces.steps[piece]))

    @cached_property
    def is_constant(self) -> bool:
        """Whether every piece repeats one value."""
        return not self.pieces.steps.any()

    @cached_property
    def is_mapped(self) -> bool:
        """Whether values are read from disk when they are needed."""
        return any(isinstance(array, np.memmap) for array in self.arrays)

    def _rows(self, rows: Ints) -> Array:
        pieces = self.pieces
        piece = pieces.find(rows)
        firsts = pieces.firsts[piece] + pieces.steps[piece] * (rows - pieces.bounds[piece])
        if len(self.arrays) == 1:
            return np.asarray(self.arrays[0][firsts])
        sources = pieces.sources[piece]
        present = np.unique(sources)
        if len(present) == 1:
            return np.asarray(self.arrays[present[0]][firsts])
        found = np.empty((*rows.shape, *self.shape[1:]), self.dtype)
        for source in present:
            chosen = sources == source
            found[chosen] = self.arrays[source][firsts[chosen]]
        return found

    def _range(self, begin: int, end: int) -> Array:
        """Return consecutive rows; a view where they lie in one piece."""
        if begin >= end:
            return np.empty((0, *self.shape[1:]), self.dtype)
        pieces = self.pieces
        low = int(np.searchsorted(pieces.bounds, begin, side="right")) - 1
        high = int(np.searchsorted(pieces.bounds, end, side="left"))
        if low + 1 == high and pieces.steps[low] == 1:
            first = int(pieces.firsts[low]) + begin - int(pieces.bounds[low])
            view: Array = self.arrays[pieces.sources[low]][first : first + end - begin]
            return view
        if (high - low) * _LONG > end - begin and high - low > 2:
            return self._short_pieces(begin, end, low, high)
        found = np.empty((end - begin, *self.shape[1:]), self.dtype)
        for piece in range(low, high):
            head, tail = max(begin, int(pieces.bounds[piece])), min(end, int(pieces.bounds[piece + 1]))
            first = int(pieces.firsts[piece])
            array = self.arrays[pieces.sources[piece]]
            if pieces.steps[piece]:
                first += head - int(pieces.bounds[piece])
                found[head - begin : tail - begin] = array[first : first + tail - head]
            else:
                found[head - begin : tail - begin] = array[first]
        return found

    def _short_pieces(self, begin: int, end: int, low: int, high: int) -> Array:
        """Copy consecutive rows from many pieces: row numbers are repeated, which is faster than looking them up."""
        pieces = self.pieces
        chosen = slice(low, high)
        counts = pieces.counts[chosen].copy()
        counts[-1] -= int(pieces.bounds[high]) - end
        counts[0] -= begin - int(pieces.bounds[low])
        firsts, steps, sources = pieces.firsts[chosen].copy(), pieces.steps[chosen], pieces.sources[chosen]
        firsts[0] += steps[0] * (begin - int(pieces.bounds[low]))
        starts = np.cumsum(counts) - counts
        places = np.repeat(firsts - steps * starts, counts)
        places += np.arange(end - begin) if steps.all() else np.repeat(steps, counts) * np.arange(end - begin)
        present = np.unique(sources)
        if len(present) == 1:
            return np.asarray(self.arrays[present[0]][places])
        found = np.empty((end - begin, *self.shape[1:]), self.dtype)
        for source in present:
            own = np.repeat(sources == source, counts)
            found[own] = self.arrays[source][places[own]]
        return found

    def _windows(self, source: int, size: int) -> Array:
        """Return all windows of an array as a view, made once."""
        key = (source, size)
        if key not in self._views:
            array = self.arrays[source]
            shape = (len(array) - size + 1, size, *array.shape[1:])
            strides = (array.strides[0], *array.strides)
            self._views[key] = as_strided(np.asarray(array), shape, strides, writeable=False)
        return self._views[key]

    def __reduce__(self) -> tuple[Any, ...]:
        from neuro_divergent.data.panel_store.mapping import picklable

        return _again, ([picklable(array) for array in self.arrays], self.pieces)


def joined(arrays: Sequence[Array], pieces: Pieces) -> Array | JoinedArray:
    """Return pieces of arrays end to end: the array itself where there is one piece that is all of it."""
    if len(pieces) == 1 and pieces.steps[0] == 1:
        array = arrays[pieces.sources[0]]
        first, count = int(pieces.firsts[0]), int(pieces.bounds[-1])
        view: Array = array if count == len(array) else array[first : first + count]
        return view
    return JoinedArray(arrays, pieces)


def as_joined(array: Array | JoinedArray) -> JoinedArray:
    """Return an array as a joined one."""
    if isinstance(array, JoinedArray):
        return array
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    return JoinedArray([array], Pieces(np.array([0, len(array)]), zero, zero, one))


def interleave(groups: Sequence[tuple[Array | JoinedArray, Ints, Ints, bool]], order: Ints) -> Array | JoinedArray:
    """Return segments of several arrays in a given order.

    Args:
        groups: Of each array the first rows and the lengths of its segments, and whether a segment repeats its first
            row. Segments may be empty.
        order: Numbers of the segments, counted over all groups, in the order they get.
    """
    arrays: list[Array] = []
    parts: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []  # segment, source, first row, count, step
    base = 0
    for values, rows, counts, repeats in groups:
        array = as_joined(values)
        there = np.flatnonzero(counts > 0)
        if len(there):
            lengths = np.ones(len(there), np.int64) if repeats else counts[there]
            piece, firsts, found, segment = array.pieces.split(rows[there], lengths)
            steps = np.zeros(len(piece), np.int64) if repeats else array.pieces.steps[piece]
            sources = array.pieces.sources[piece] + len(arrays)
            parts.append((there[segment] + base, sources, firsts, counts[there] if repeats else found, steps))
        base += len(rows)
        arrays.extend(array.arrays)
    segments, sources, firsts, counts, steps = (
        np.concatenate([part[item] for part in parts]).astype(np.int64, copy=False) for item in range(5)
    )
    place = np.empty(base, np.int64)
    place[order] = np.arange(len(order))
    sequence = np.argsort(place[segments], kind="stable")
    return joined(arrays, Pieces.of(sources[sequence], firsts[sequence], counts[sequence], steps[sequence]))


def is_mapped(array: Array | JoinedArray | None) -> bool:
    """Whether values of an array are read from disk when they are needed."""
    return array.is_mapped if isinstance(array, JoinedArray) else isinstance(array, np.memmap)


def _again(arrays: list[Any], pieces: Pieces) -> JoinedArray:
    return JoinedArray([array.open() if hasattr(array, "open") else array for array in arrays], pieces)
