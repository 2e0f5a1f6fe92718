"""Naive forecasts of many windows at once, with the standard deviations of their errors.

All of them use every observed value of a series before the first target row and nothing after it. A forecast is NaN if
the history has no observed value. Standard deviations are those of Hyndman and Athanasopoulos, "Forecasting: Principles
and Practice", third edition, section 5.5. Where values are missing, the textbook's steps are counted in rows: a change
over a gap of four rows has the variance of four steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Floats, Ints
from neuro_divergent.data.panel import Panel


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
        places = self._latest(1)[np.maximum(self.rows - 1, 0)]
        return np.where((self.rows > self._begins) & (places >= self._begins), places, -1)

    @cached_property
    def _first(self) -> Ints:
        """First observed row of the series, or -1 where it does not lie before the target."""
        return np.where(self._last >= 0, self.panel.first_observed[self.series], -1)

    @cached_property
    def _same_phase(self) -> Ints:
        """Last observed row before the target in the phase of each step, or -1, ``(windows, horizon)``."""
        season, begins = self.season_length, self._begins[:, None]
        wanted = self.rows[:, None] - season + np.arange(self.horizon) % season
        places = self._latest(season)[np.maximum(wanted, 0)]
        return np.where((wanted >= begins) & (places >= begins), places, -1)

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
        panel, rows = self.panel, np.arange(len(self.panel))
        before = np.full(len(rows), -1)
        if season < len(rows):
            before[season:] = self._latest(season)[:-season]
        begins = np.repeat(panel.offsets[:-1], panel.lengths)
        known = before >= begins if panel.mask is None else panel.mask & (before >= begins)
        change = np.where(known, panel.y.astype(np.float64) - panel.y[np.maximum(before, 0)], 0)
        seasons = np.where(known, (rows - before) // season, 1)
        return self._sum_before(known.astype(np.float64)), self._sum_before(np.square(change) / seasons)

    def _moments(self, window: int | None) -> tuple[Floats, Floats, Floats]:
        """Return the number of observed values, the sum of their distances to the first one, and of the squares.

        Distances keep sums of squares small, which leaves their difference more digits.
        """
        panel = self.panel
        first = panel.y[np.minimum(panel.first_observed, max(len(panel) - 1, 0))].astype(np.float64)
        away = panel.y.astype(np.float64) - np.repeat(first, panel.lengths)
        observed = np.ones(len(panel)) if panel.mask is None else panel.mask.astype(np.float64)
        parts = [self._sum_before(part, window) for part in (observed, observed * away, observed * np.square(away))]
        return parts[0], parts[1], parts[2]

    def _sum_before(self, terms: Floats, window: int | None = None) -> Floats:
        """Return the sum of what rows have over the rows of the series before each window, or the last of them.

        Each series is summed on its own, so that large values of one leave no rounding errors in another.
        """
        totals = np.zeros(len(self.rows))
        order = np.argsort(self.series, kind="stable")
        firsts = np.flatnonzero(np.diff(self.series[order], prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(order)], strict=True):
            group = order[first:last]
            begin, rows = int(self._begins[group[0]]), self.rows[group]
            sums = np.concatenate([[0.0], np.cumsum(terms[begin : int(rows.max())])])
            until = rows - begin
            since = 0 if window is None else np.maximum(until - window, 0)
            totals[group] = sums[until] - sums[since]
        return totals

    def _latest(self, season: int) -> Ints:
        """For each row of the panel, the last observed row at or before it in the same phase; -1 for none."""
        rows = np.arange(len(self.panel))
        if self.panel.mask is None:
            return rows
        season = min(season, len(rows))  # beyond, each row has a phase of its own
        padding = -len(rows) % season
        seen = np.pad(np.where(self.panel.mask, rows, -1), (0, padding), constant_values=-1).reshape(-1, season)
        return np.maximum.accumulate(seen, axis=0).reshape(-1)[: len(rows)]

    def _values(self, places: Ints) -> Floats:
        """Return the target at some rows, NaN at -1."""
        return np.where(places >= 0, self.panel.y[np.maximum(places, 0)].astype(np.float64), np.nan)


def _ratio(total: Floats, count: Floats) -> Floats:
    """Return a mean square; 0 where nothing was counted, because a single value has no spread."""
    return np.where(count > 0, total / np.maximum(count, 1), 0.0)
