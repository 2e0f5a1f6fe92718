"""Index of the windows over a panel.

A window is a history of ``input_size`` rows followed by a target of ``horizon`` rows. Its number gives its series and
its first row by arithmetic, so a million windows cost no more memory than one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.panel import BLOCK_ROWS, Panel
from neuro_divergent.data.time_order import TimeOrder

_FARTHEST = 4  # series that are counted up one by one; from more on a binary search is faster
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Windows:
    """All windows of a panel whose targets lie in a given range of each series.

    Windows are counted from the end of the range backwards in steps of ``step``, so the last one always ends at the end
    of its range. Within a series the number grows with time.

    Attributes:
        panel: The series.
        input_size: Rows of history; they may lie before the range.
        horizon: Rows of target; all of them lie in the range.
        begins: First row (of the whole panel) that may be a target, per series.
        ends: Row after the last one that may be a target, per series.
        step: Rows between two windows of a series.
        joint: Whether a window spans all series at once; the panel must then be aligned.
    """

    panel: Panel
    input_size: int
    horizon: int
    begins: Ints
    ends: Ints
    step: int = 1
    joint: bool = False

    def __len__(self) -> int:
        """Number of windows."""
        return self._total

    @cached_property
    def counts(self) -> Ints:
        """Number of windows of each series; a single number where windows span all series."""
        cumulative, _ = self._table
        return np.diff(cumulative, prepend=0)

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the series and the first history row of each window number."""
        _, zero = self._table
        series = self._series_of(numbers)
        return series, zero[series] + numbers * self.step

    def spread_out(self, per_series: int) -> Ints:
        """Return that many window numbers of each series that has windows, evenly spread; they repeat if it has fewer.

        Of windows that span all series, it is the numbers of as many in all.
        """
        before = (np.cumsum(self.counts) - self.counts)[self.counts > 0]
        counts = self.counts[self.counts > 0]
        steps = np.arange(per_series) / max(per_series - 1, 1)
        return (before[:, None] + np.floor((counts[:, None] - 1) * steps).astype(np.int64)).reshape(-1)

    @property
    def _total(self) -> int:
        """Number of windows in the range of each series, added up."""
        cumulative, _ = self._table
        return int(cumulative[-1]) if len(cumulative) else 0

    @cached_property
    def _table(self) -> tuple[Ints, Ints]:
        """Windows of each series and all before it, and the row where window 0 would begin if it were of the series."""
        first = np.maximum(self.begins, self.panel.offsets[:-1] + self.input_size)  # first possible first target row
        last = self.ends - self.horizon
        counts = np.maximum((last - first) // self.step + 1, 0)
        if self.joint:
            counts, last = counts[:1], last[:1]
        cumulative = np.cumsum(counts)
        first_row = last - (counts - 1) * self.step - self.input_size
        return cumulative, first_row - (cumulative - counts) * self.step

    def _series_of(self, numbers: Ints) -> Ints:
        """Return the series of each window number.

        A binary search jumps about, which the processor cannot predict for shuffled numbers: looking up a number close
        to the series and counting up from there takes a sixth of the time.
        """
        cumulative, _ = self._table
        shift, lowest, distance = self._lowest_series
        if distance > _FARTHEST:
            return np.searchsorted(cumulative, numbers, side="right").astype(np.int64, copy=False)
        series: Ints = lowest[numbers >> shift]
        for _ in range(distance):
            series += cumulative[series] <= numbers
        return series

    @cached_property
    def _lowest_series(self) -> tuple[int, Ints, int]:
        """For each ``2**shift`` numbers in a row the series of the first; and how far at most it is to the last's."""
        cumulative, _ = self._table
        total = self._total
        shift = max((total // max(len(cumulative), 1)).bit_length() - 1, 0)
        firsts = np.minimum(np.arange((total >> shift) + 2) << shift, max(total - 1, 0))
        lowest = np.searchsorted(cumulative, firsts, side="right").astype(np.int64, copy=False)
        return shift, lowest, int(np.diff(lowest).max())

    def by_time(self) -> Ints | TimeOrder:
        """Return all window numbers in order of the time they begin at; series break ties.

        More than four million are computed where they are needed, if all series begin some steps after the earliest.
        """
        if len(self) > BLOCK_ROWS and (order := self._time_order()) is not None:
            return order
        series, rows = self.locate(np.arange(len(self)))
        starts = self.panel.starts.gather(series)
        times = self.panel.frequency.time_at(starts, rows - self.panel.offsets[series]).to_physical().to_numpy()
        return np.lexsort((series, times))

    def _time_order(self) -> TimeOrder | None:
        panel, counts = self.panel, self.counts
        starts = panel.starts[: len(counts)]
        earliest = pl.select(pl.repeat(starts.min(), len(starts), dtype=starts.dtype)).to_series()
        after = panel.frequency.between(earliest, starts)
        if (after < 0).any():
            return None
        before = np.cumsum(counts) - counts
        _, rows = self.locate(np.minimum(before, len(self) - 1))  # of series without windows, anything
        return TimeOrder(after + np.where(counts > 0, rows - panel.offsets[: len(counts)], 0), counts, self.step)


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledWindows(Windows):
    """Some of the windows of a panel, chosen once, in their order.

    Attributes:
        numbers: Which of all windows.
    """

    numbers: Ints

    @classmethod
    def of(cls, windows: Windows, most: int) -> Windows:
        """Return at most ``most`` windows, evenly spread over all of them; all of them where there are no more."""
        if len(windows) <= most:
            return windows
        numbers = spread_numbers(len(windows), most)
        return cls(**{field.name: getattr(windows, field.name) for field in fields(Windows)}, numbers=numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def total(self) -> int:
        """Number of windows that these were chosen from."""
        return self._total

    @cached_property
    def counts(self) -> Ints:
        """Number of these windows of each series."""
        cumulative, _ = self._table
        return np.diff(np.searchsorted(self.numbers, cumulative), prepend=0)

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        return super().locate(self.numbers[numbers])


def spread_numbers(count: int, most: int) -> Ints:
    """Return ``most`` of the numbers below ``count`` (at least 1), or all, ascending, evenly spread, always the same.

    One is taken from each of ``most`` equal ranges, at a place that differs from range to range: numbers at equal
    distances could all be the same hour of the day, or the last of their series.
    """
    edges = np.arange(min(count, most) + 1) * count // min(count, most)
    within = np.arange(len(edges) - 1) * _GOLDEN % 1
    numbers: Ints = edges[:-1] + (within * np.diff(edges)).astype(np.int64)
    return numbers


def across(panel: Panel, rows: Ints) -> tuple[Ints, Ints]:
    """Return series and rows of windows that span all series, one for each series of each window."""
    count, length = panel.num_series, int(panel.lengths[0])
    return np.tile(np.arange(count), len(rows)), (rows[:, None] + length * np.arange(count)).reshape(-1)
