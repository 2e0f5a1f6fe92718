"""Segments: contiguous rows within one series of a panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Bools, Ints

Range = tuple[Ints, Ints]
"""First row and row after the last one of each series of the panel; empty where the first is not lower."""


class Segments(NamedTuple):
    """Several segments.

    Attributes:
        series: Series of each segment.
        begins: First row of each, counted over all rows of the panel.
        ends: Row after the last one of each.
    """

    series: Ints
    begins: Ints
    ends: Ints


NOTHING = Segments(*(np.zeros(0, np.int64) for _ in range(3)))


def collect(ranges: Sequence[Range]) -> Segments:
    """Return the ranges that are not empty as segments, sorted by row."""
    if not ranges:
        return NOTHING
    begins, ends = (np.concatenate([pair[side] for pair in ranges]) for side in (0, 1))
    series = np.tile(np.arange(len(ranges[0][0])), len(ranges))
    kept = np.flatnonzero(begins < ends)
    kept = kept[np.argsort(begins[kept], kind="stable")]
    return Segments(series[kept], begins[kept], ends[kept])


def cut_out(rows: Range, holes: Iterable[Range]) -> list[Range]:
    """Return the parts of a range that lie outside of ``holes``, which are sorted by row."""
    begins, ends = rows
    left = []
    for hole_begins, hole_ends in holes:
        left.append((begins, np.minimum(hole_begins, ends)))
        begins = np.maximum(begins, hole_ends)
    return [*left, (begins, ends)]


def keep(chosen: Bools, rows: Range) -> Range:
    """Return a range that is empty except for the chosen series."""
    return rows[0], np.where(chosen, rows[1], rows[0])


def clip(rows: Range, to: Range) -> Range:
    """Return the part of a range that lies in another."""
    return np.maximum(rows[0], to[0]), np.minimum(rows[1], to[1])


def count_rows(ranges: Sequence[Range]) -> Ints:
    """Return how many rows each series has in some ranges."""
    total: Ints = np.sum([np.maximum(ends - begins, 0) for begins, ends in ranges], axis=0)
    return total


def runs_of(mask: Bools, offsets: Ints) -> Segments:
    """Return the contiguous segments of marked rows; the border between two series ends a segment."""
    edges = np.zeros(len(mask) + 1, np.bool_)
    edges[offsets] = True
    begins = np.flatnonzero(mask & (edges[:-1] | ~np.concatenate([[False], mask[:-1]])))
    ends = np.flatnonzero(mask & (edges[1:] | ~np.concatenate([mask[1:], [False]]))) + 1
    return Segments(np.searchsorted(offsets, begins, side="right") - 1, begins, ends)
