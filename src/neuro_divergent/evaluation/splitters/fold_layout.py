"""Layouts of folds: the role of each of a few columns of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.cleaning.calendar import show_time
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.segment_table import ROLES
from neuro_divergent.evaluation.splitters.timeline import first_steps

_AT_ONCE = 10_000  # series whose columns are computed together
_MOST = 3  # layouts of a fold that are shown


@dataclass(frozen=True)
class SeriesLayout:
    """Layout that some series of a fold share.

    Attributes:
        runs: Neighbouring columns of the same role, from left to right: the role, or an empty string for unused rows,
            and the width.
    """

    count: int
    runs: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FoldLayout:
    """Layouts of one fold.

    Attributes:
        layouts: The most common ones, most common first.
        others: Number of series with another layout.
        unused: Number of series that the fold leaves out.
    """

    number: int
    layouts: tuple[SeriesLayout, ...]
    others: int
    unused: int

    @property
    def is_uniform(self) -> bool:
        """Whether all series have the same layout."""
        return len(self.layouts) == 1 and not self.others and not self.unused

    @property
    def remark(self) -> str:
        """Remark on series that are not shown."""
        others = f"{self.others:,} more with other layouts" if self.others else ""
        unused = f"{self.unused:,} series left out" if self.unused else ""
        return ", ".join(filter(None, (others, unused)))


def fold_layouts(segments: pl.DataFrame, panel: Panel, columns: int) -> Iterator[FoldLayout]:
    """Yield the layouts of each fold of ``segments_of``.

    Time, from the first row of the panel to the last, is divided into columns. Where a column holds rows of several
    roles it has the last of ``ROLES`` among them, so that a test range is shown however short it is.
    """
    first = first_steps(panel)
    total = int((first + panel.lengths).max())
    for fold in segments.partition_by("fold", maintain_order=True):
        series = fold["series"].to_numpy()
        used, places = np.unique(series, return_inverse=True)
        ahead = (first - panel.offsets[:-1])[series]
        begins, ends = (
            _column(fold[name].to_numpy() + ahead, total, columns, name == "end") for name in ("begin", "end")
        )
        roles = fold["role"].to_numpy()
        found: Counter[bytes] = Counter()
        for start in range(0, len(used), _AT_ONCE):
            here = (places >= start) & (places < start + _AT_ONCE)
            shape = min(_AT_ONCE, len(used) - start), columns
            found.update(_paint(shape, places[here] - start, begins[here], ends[here], roles[here]))
        common = found.most_common(_MOST)
        yield FoldLayout(
            number=fold["fold"][0],
            layouts=tuple(SeriesLayout(count, _runs(row)) for row, count in common),
            others=len(used) - sum(count for _, count in common),
            unused=panel.num_series - len(used),
        )


def show_ends(panel: Panel) -> tuple[str, str]:
    """Return the first and the last time of a panel as text."""
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    return show_time(panel.starts.sort(), 0), show_time(ends.sort(), len(ends) - 1)


def _column(steps: Ints, total: int, columns: int, is_end: bool) -> Ints:
    """Return the column of a step; where a step is wider than a column, the column nearest to its border."""
    if total <= columns:
        return np.round(steps * columns / total).astype(np.int64)
    return -(-steps * columns // total) if is_end else steps * columns // total


def _paint(
    shape: tuple[int, int], series: Ints, begins: Ints, ends: Ints, roles: npt.NDArray[np.uint8]
) -> Iterator[bytes]:
    """Yield the columns of each series: 0 where it is unused, else 1 plus the index in ``ROLES``."""
    canvas = np.zeros(shape, np.uint8)
    for role in range(len(ROLES)):
        here = np.flatnonzero(roles == role)
        sizes = ends[here] - begins[here]
        cells = np.arange(sizes.sum()) + np.repeat(
            series[here] * shape[1] + begins[here] - sizes.cumsum() + sizes, sizes
        )
        canvas.reshape(-1)[cells] = role + 1
    return (row.tobytes() for row in canvas)


def _runs(row: bytes) -> tuple[tuple[str, int], ...]:
    values = np.frombuffer(row, np.uint8)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]])
    return tuple((("", *ROLES)[values[begin]], int(end - begin)) for begin, end in pairwise(edges))
