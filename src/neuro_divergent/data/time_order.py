"""The order of windows by time, computed where it is needed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.core.arrays import Ints

_AT_ONCE = 2**18  # windows that are put in order together


@dataclass(eq=False)
class TimeOrder:
    """Window numbers in the order of the time they begin at; series break ties.

    It is indexed like an array of all numbers, which would take 8 bytes for each window and a sort of all of them.

    Attributes:
        times: When the first window of each series begins, in steps from the earliest series.
        counts: Windows of each series.
        step: Steps between two windows of a series.
    """

    times: Ints
    counts: Ints
    step: int
    _first: int = field(default=0, init=False)
    _numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64), init=False)

    def __len__(self) -> int:
        """Number of windows."""
        return int(self.counts.sum())

    def __getitem__(self, positions: Ints) -> Ints:
        """Return the window numbers at some positions, which are close to each other."""
        if not len(positions):
            return positions
        first, end = int(positions.min()), int(positions.max()) + 1
        if first < self._first or end > self._first + len(self._numbers):
            self._order(first, max(end, min(first + _AT_ONCE, len(self))))
        numbers: Ints = self._numbers[positions - self._first]
        return numbers

    def _order(self, first: int, end: int) -> None:
        """Put the windows from one position to another in order."""
        low, high = self._time_at(first), self._time_at(end - 1) + 1
        begins, ends = self._before(low), self._before(high)
        counts = ends - begins
        series = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(series)) - np.repeat(np.cumsum(counts) - counts, counts) + begins[series]
        order = np.lexsort((series, self.times[series] + place * self.step))
        before = np.cumsum(self.counts) - self.counts
        self._first, self._numbers = int(begins.sum()), (before[series] + place)[order]

    def _time_at(self, position: int) -> int:
        """Return the time of the window at a position."""
        low, high = int(self.times.min()), int((self.times + self.counts * self.step).max())
        while high - low > 1:  # windows before low are at most so many, windows before high are more
            middle = (low + high) // 2
            if int(self._before(middle).sum()) <= position:
                low = middle
            else:
                high = middle
        return low

    def _before(self, time: int) -> Ints:
        """Return how many windows of each series begin before a time."""
        before: Ints = np.clip(-((self.times - time) // self.step), 0, self.counts)
        return before
