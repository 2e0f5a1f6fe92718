"""Naive forecasts to compare a trained forecaster with.

All of them use every observed value of a series before the first target row and nothing after it. They are computed for
many windows at once. The forecast is NaN if the history holds no observed value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Floats, Ints
from neuro_divergent.data.panel import Panel

NAMES = ("last value", "seasonal naive", "drift")


@dataclass(frozen=True, eq=False)
class Baselines:
    """The three baselines for the windows of a panel.

    Attributes:
        series: Index of each window's series in the panel, ``(windows,)``.
        rows: First target row of each window in the panel, ``(windows,)``.
    """

    panel: Panel
    series: Ints
    rows: Ints
    horizon: int
    season_length: int

    def all(self) -> dict[str, AnyFloats]:
        """Return each baseline by its name, ``(windows, horizon)``."""
        return dict(zip(NAMES, (self.last_value(), self.seasonal_naive(), self.drift()), strict=True))

    def last_value(self) -> AnyFloats:
        """Repeat the last observed value."""
        return np.repeat(self._values(self._last)[:, None], self.horizon, axis=1)

    def seasonal_naive(self) -> AnyFloats:
        """Repeat the last observed value of the same phase of the season.

        Where a series has no such value yet, it is the last observed value.
        """
        season = self.season_length
        steps = np.arange(self.horizon)
        wanted = self.rows[:, None] - season + steps % season
        places = self._latest(season)[np.maximum(wanted, 0)]
        places = np.where((wanted >= self._begins[:, None]) & (places >= self._begins[:, None]), places, -1)
        return np.where(places >= 0, self._values(places), self.last_value())

    def drift(self) -> AnyFloats:
        """Continue the straight line through the first and the last observed value."""
        first, last = self._first, self._last
        rise = self._values(last) - self._values(first)
        slope = rise / np.maximum(last - first, 1)
        ahead = self.rows[:, None] + np.arange(self.horizon) - last[:, None]
        line: AnyFloats = self._values(last)[:, None] + slope[:, None] * ahead
        return line

    @property
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
        if self.panel.mask is None:
            return np.where(self._last >= 0, self._begins, -1)
        rows = np.where(self.panel.mask, np.arange(len(self.panel)), len(self.panel))
        earliest = np.minimum.accumulate(rows[::-1])[::-1]
        return np.where(self._last >= 0, earliest[self._begins], -1)

    def _latest(self, season: int) -> Ints:
        """For each row of the panel, the last observed row at or before it in the same phase; -1 for none."""
        rows = np.arange(len(self.panel))
        if self.panel.mask is None:
            return rows
        padding = -len(rows) % season
        seen = np.pad(np.where(self.panel.mask, rows, -1), (0, padding), constant_values=-1).reshape(-1, season)
        return np.maximum.accumulate(seen, axis=0).reshape(-1)[: len(rows)]

    def _values(self, places: Ints) -> Floats:
        """Return the target at some rows, NaN at -1."""
        return np.where(places >= 0, self.panel.y[np.maximum(places, 0)].astype(np.float64), np.nan)
