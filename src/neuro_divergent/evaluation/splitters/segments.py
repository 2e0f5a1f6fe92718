"""Unbroken runs of rows, each within one series of a panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Bools, Ints

Range = tuple[Ints, Ints]
"""First row and row after the last one, an entry for each series of the panel; empty where the first is not lower."""


class Segments(NamedTuple):
    """Some runs of rows.

    Attributes:
        series: The series that each lies in.
        begins: First row of each, counted over all rows of the panel.
        ends: Row after the last one of each.
    """

    series: Ints
    begins: Ints
    ends: Ints


NOTHING = Segments(*(np.zeros(0, np.int64) for _ in range(3)))


def collect(ranges: Sequence[Range]) -> Segments:
    """Return what is not empty of some ranges, in the order of the rows."""
    if not ranges:
        return NOTHING
    begins, ends = (np.concatenate([pair[side] for pair in ranges]) for side in (0, 1))
    series = np.tile(np.arange(len(ranges[0][0])), len(ranges))
    kept = np.flatnonzero(begins < ends)
    kept = kept[np.argsort(begins[kept], kind="stable")]
    return Segments(series[kept], begins[kept], ends[kept])


def cut_out(whole: Range, holes: Iterable[Range]) -> list[Range]:
    """Return what is left of a range without some others, which come in the order of their rows."""
    begins, ends = whole
    left = []
    for hole_begins, hole_ends in holes:
        left.append((begins, np.minimum(hole_begins, ends)))
        begins = np.maximum(begins, hole_ends)
    return [*left, (begins, ends)]


def keep(chosen: Bools, whole: Range) -> Range:
    """Return a range that is empty except for the chosen series."""
    return whole[0], np.where(chosen, whole[1], whole[0])


def clip(whole: Range, to: Range) -> Range:
    """Return the part of a range that lies in another."""
    return np.maximum(whole[0], to[0]), np.minimum(whole[1], to[1])


def count_rows(ranges: Sequence[Range]) -> Ints:
    """Return how many rows each series has in some ranges."""
    total: Ints = np.sum([np.maximum(ends - begins, 0) for begins, ends in ranges], axis=0)
    return total


def runs_of(mask: Bools, offsets: Ints) -> Segments:
    """Return the unbroken runs of marked rows; the border between two series ends a run."""
    edges = np.zeros(len(mask) + 1, np.bool_)
    edges[offsets] = True
    begins = np.flatnonzero(mask & (edges[:-1] | ~np.concatenate([[False], mask[:-1]])))
    ends = np.flatnonzero(mask & (edges[1:] | ~np.concatenate([mask[1:], [False]]))) + 1
    return Segments(np.searchsorted(offsets, begins, side="right") - 1, begins, ends)
