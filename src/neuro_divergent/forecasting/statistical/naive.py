"""Naive forecasts of many windows at once, with the standard deviations of their errors.

All of them use every observed value of a series before the first target row and nothing after it. A forecast is NaN if
the history has no observed value. Standard deviations are those of Hyndman and Athanasopoulos, "Forecasting: Principles
and Practice", third edition, section 5.5. Where values are missing, the textbook's steps are counted in rows: a change
over a gap of four rows has the variance of four steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats, Ints
from neuro_divergent.data.panel import Panel

_STEPS_BACK = 32  # rows that are looked at one after another for an observed one, in all windows together
_SCANNED = 2**16  # rows that are looked at together after that, window by window


@dataclass(frozen=True, eq=False)
class NaiveForecasts:
    """Naive forecasts for windows of a panel.

    Attributes:
        series: Index of each window's series in the panel, ``(windows,)``.
        rows: First target row of each window in the panel, ``(windows,)``; the end of the series for what follows it.
    """

    panel: Panel
    series: Ints
    rows: Ints
    horizon: int
    season_length: int

    def last_value(self) -> AnyFloats:
        """Repeat the last observed value."""
        return np.repeat(self._values(self._last)[:, None], self.horizon, axis=1)

    def seasonal_naive(self) -> AnyFloats:
        """Repeat the last observed value of the same phase of the season.

        Where a series has no such value yet, it is the last observed value.
        """
        places = self._same_phase
        return np.where(places >= 0, self._values(places), self.last_value())

    def drift(self) -> AnyFloats:
        """Continue the straight line through the first and the last observed value."""
        line: AnyFloats = self._values(self._last)[:, None] + self._slope[:, None] * self._ahead
        return line

    def mean(self, window: int | None = None) -> AnyFloats:
        """Repeat the mean of the observed values, of all rows or of the last ``window``.

        Where none of those was observed, it is the last observed value.
        """
        count, total, _ = self._moments(window)
        mean = self._values(self._first) + total / np.maximum(count, 1)
        return np.repeat(np.where(count > 0, mean, self._values(self._last))[:, None], self.horizon, axis=1)

    def last_value_spread(self) -> AnyFloats:
        """Return the standard deviation of the errors of ``last_value``, ``(windows, horizon)``."""
        changes, squares = self._changes
        return np.sqrt(_ratio(squares, changes)[:, None] * self._ahead)

    def seasonal_naive_spread(self) -> AnyFloats:
        """Return the standard deviation of the errors of ``seasonal_naive``, ``(windows, horizon)``."""
        season, places = self.season_length, self._same_phase
        changes, squares = self._count_changes(season)
        seasons = (self.rows[:, None] + np.arange(self.horizon) - places) // season
        own = np.sqrt(_ratio(squares, changes)[:, None] * seasons)
        return np.where((places >= 0) & (changes > 0)[:, None], own, self.last_value_spread())

    def drift_spread(self) -> AnyFloats:
        """Return the standard deviation of the errors of ``drift``, ``(windows, horizon)``."""
        changes, squares = self._changes
        span = np.maximum(self._last - self._first, 1)
        left = np.maximum(squares - np.square(self._slope) * span, 0)
        spread: AnyFloats = np.sqrt(
            _ratio(left, changes - 1)[:, None] * self._ahead * (1 + self._ahead / span[:, None])
        )
        return spread

    def mean_spread(self, window: int | None = None) -> AnyFloats:
        """Return the standard deviation of the errors of ``mean``, ``(windows, horizon)``."""
        count, total, squares = self._moments(window)
        variance = _ratio(np.maximum(squares - np.square(total) / np.maximum(count, 1), 0), count - 1)
        spread = np.sqrt(variance * (1 + 1 / np.maximum(count, 1)))
        return np.repeat(spread[:, None], self.horizon, axis=1)

    def take(self, places: Ints) -> Self:
        """Return the forecasts of some of the windows."""
        return type(self)(self.panel, self.series[places], self.rows[places], self.horizon, self.season_length)

    @cached_property
    def _begins(self) -> Ints:
        """First row of the series of each window."""
        return self.panel.offsets[:-1][self.series]

    @cached_property
    def _last(self) -> Ints:
        """Last observed row before the target, or -1."""
        return self._latest(self.rows - 1, self._begins, 1)

    @cached_property
    def _first(self) -> Ints:
        """First observed row of the series, or -1 where it does not lie before the target."""
        return np.where(self._last >= 0, self.panel.first_observed[self.series], -1)

    @cached_property
    def _same_phase(self) -> Ints:
        """Last observed row before the target in the phase of each step, or -1, ``(windows, horizon)``."""
        season = self.season_length
        wanted = self.rows[:, None] - season + np.arange(self.horizon) % season
        return self._latest(wanted, np.broadcast_to(self._begins[:, None], wanted.shape), season)

    @cached_property
    def _slope(self) -> Floats:
        rise = self._values(self._last) - self._values(self._first)
        slope: Floats = rise / np.maximum(self._last - self._first, 1)
        return slope

    @cached_property
    def _ahead(self) -> Ints:
        """Rows from the last observed one to each target, ``(windows, horizon)``."""
        return self.rows[:, None] + np.arange(self.horizon) - self._last[:, None]

    @cached_property
    def _changes(self) -> tuple[Floats, Floats]:
        return self._count_changes(1)

    def _count_changes(self, season: int) -> tuple[Floats, Floats]:
        """Return how often a value was observed after another of its phase, and the sum of the squared changes.

        A change over several seasons is divided by the square root of their number.
        """

        def terms(rows: _Rows) -> list[Floats]:
            count = len(rows.y)
            before = np.full(count, -1)
            if season < count:
                before[season:] = rows.latest(season)[:-season]
            known = before >= rows.begins if rows.mask is None else rows.mask & (before >= rows.begins)
            change = np.where(known, rows.y.astype(np.float64) - rows.y[np.maximum(before, 0)], 0)
            seasons = np.where(known, (np.arange(count) - before) // season, 1)
            return [known.astype(np.float64), np.square(change) / seasons]

        counts, squares = self._sum_before(terms)
        return counts, squares

    def _moments(self, window: int | None) -> tuple[Floats, Floats, Floats]:
        """Return the number of observed values, the sum of their distances to the first one, and of the squares.

        Distances keep sums of squares small, which leaves their difference more digits.
        """

        def terms(rows: _Rows) -> list[Floats]:
            away = rows.y.astype(np.float64) - rows.y[rows.first_observed].astype(np.float64)
            observed = np.ones(len(away)) if rows.mask is None else rows.mask.astype(np.float64)
            return [observed, observed * away, observed * np.square(away)]

        counts, totals, squares = self._sum_before(terms, window)
        return counts, totals, squares

    def _sum_before(self, terms: Callable[[_Rows], Sequence[Floats]], window: int | None = None) -> list[Floats]:
        """Return the sums of what rows have over the rows of the series before each window, or the last of them.

        Each series is summed on its own, so that large values of one leave no rounding errors in another. Rows are read
        some series at a time, and only those of series that have windows.
        """
        totals: list[Floats] = []
        order = np.argsort(self.series, kind="stable")
        firsts = np.flatnonzero(np.diff(self.series[order], prepend=-1))
        groups = list(zip(firsts.tolist(), [*firsts[1:].tolist(), len(order)], strict=True))
        chosen, done = self.series[order[firsts]], 0
        for begin, end in self.panel.series_blocks():
            until = int(np.searchsorted(chosen, end))
            if until == done:
                continue
            rows = _Rows.of(self.panel, begin, end)
            found = terms(rows)
            totals = totals or [np.zeros(len(self.rows)) for _ in found]
            for first, last in groups[done:until]:
                group = order[first:last]
                start, ends = int(self._begins[group[0]]) - rows.start, self.rows[group] - rows.start
                for total, values in zip(totals, found, strict=True):
                    sums = np.concatenate([[0.0], np.cumsum(values[start : int(ends.max())])])
                    reached = ends - start
                    since = 0 if window is None else np.maximum(reached - window, 0)
                    total[group] = sums[reached] - sums[since]
            done = until
        return totals or [np.zeros(0) for _ in terms(_Rows.of(self.panel, 0, 0))]

    def _latest(self, rows: Ints, begins: Ints, season: int) -> Ints:
        """Return the last observed row at or before each row in the same phase; -1 where none is since ``begins``.

        Only rows that are asked for are looked at, and those one season before where they were not observed, and so on.
        """
        mask = self.panel.mask
        if mask is None:
            return np.where(rows >= begins, rows, -1)
        found, first = rows.reshape(-1).copy(), begins.reshape(-1)
        open_places = np.arange(len(found))
        for _ in range(_STEPS_BACK):
            is_inside = found[open_places] >= first[open_places]
            found[open_places[~is_inside]] = -1
            open_places = open_places[is_inside]
            open_places = open_places[~mask[found[open_places]]]
            if not len(open_places):
                break
            found[open_places] -= season
        for place in open_places.tolist():
            found[place] = _scan_back(mask, int(found[place]), int(first[place]), season)
        return found.reshape(rows.shape)

    def _values(self, places: Ints) -> Floats:
        """Return the target at some rows, NaN at -1."""
        return np.where(places >= 0, self.panel.y[np.maximum(places, 0)].astype(np.float64), np.nan)


def _ratio(total: Floats, count: Floats) -> Floats:
    """Return a mean square; 0 where nothing was counted, because a single value has no spread."""
    return np.where(count > 0, total / np.maximum(count, 1), 0.0)


class _Rows(NamedTuple):
    """Rows of some whole series of a panel that follow each other.

    Attributes:
        start: Row of the panel that is the first here.
        y: Target.
        mask: Whether it was observed; ``None`` where all of it was.
        begins: First row of the series of each row, counted from ``start``.
        first_observed: First observed row of the series of each row, counted from ``start``.
    """

    start: int
    y: AnyFloats
    mask: Bools | None
    begins: Ints
    first_observed: Ints

    @classmethod
    def of(cls, panel: Panel, first: int, end: int) -> _Rows:
        offsets = panel.offsets[first : end + 1]
        start, lengths = int(offsets[0]), np.diff(offsets)
        rows = slice(start, int(offsets[-1]))
        observed = np.minimum(panel.first_observed[first:end], max(len(panel) - 1, 0)) - start
        return cls(
            start,
            np.asarray(panel.y[rows]),
            None if panel.mask is None else np.asarray(panel.mask[rows]),
            np.repeat(offsets[:-1] - start, lengths),
            np.minimum(np.repeat(observed, lengths), max(rows.stop - start - 1, 0)),
        )

    def latest(self, season: int) -> Ints:
        """For each row, the last observed row at or before it in the same phase; -1 for none."""
        rows = np.arange(len(self.y))
        if self.mask is None:
            return rows
        season = min(season, len(rows))  # beyond, each row has a phase of its own
        padding = -len(rows) % season
        seen = np.pad(np.where(self.mask, rows, -1), (0, padding), constant_values=-1).reshape(-1, season)
        return np.maximum.accumulate(seen, axis=0).reshape(-1)[: len(rows)]


def _scan_back(mask: Bools, row: int, begin: int, season: int) -> int:
    """Return the last observed row at or before a row in its phase, and not before ``begin``; -1 for none."""
    size = max(_SCANNED // season, 1) * season
    while row >= begin:
        since = max(begin, row - size + season)
        since += (row - since) % season
        seen = np.flatnonzero(np.asarray(mask[since : row + 1])[::season])
        if len(seen):
            return since + int(seen[-1]) * season
        row = since - season
    return -1
