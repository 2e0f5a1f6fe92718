"""The cut-offs of the back-tests: how many, how far apart, and the windows they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.splits import MIN_HISTORY

_KEPT = 0.7  # fraction of the rows of a median series that stay before the earliest cut-off


@dataclass(frozen=True, eq=False)
class Cutoffs:
    """Forecasts of some series from several cut-offs near their ends, counted from the last one.

    All candidates forecast the same windows. Arrays of forecasts are ``(cut-offs, series, horizon)``, the newest
    cut-off first.

    Attributes:
        panel: All series.
        series: Index in the panel of the series that are forecast.
        horizon: Steps to forecast.
        backs: Rows from each cut-off to the end of a series, ascending; the first is the horizon.
    """

    panel: Panel
    series: Ints
    horizon: int
    backs: tuple[int, ...]

    def __len__(self) -> int:
        """Number of cut-offs."""
        return len(self.backs)

    @property
    def earliest(self) -> int:
        """Rows from the earliest cut-off to the end of a series; 0 without any."""
        return self.backs[-1] if self.backs else 0

    @cached_property
    def targets(self) -> Ints:
        """First target row in the panel, ``(cut-offs, series)``; it may lie before the series where that is short."""
        return self.panel.offsets[1:][self.series] - np.array(self.backs, np.int64)[:, None]

    @cached_property
    def usable(self) -> Bools:
        """Whether a window has enough observed history to be judged, ``(cut-offs, series)``."""
        begins = self.panel.offsets[:-1][self.series]
        if self.panel.mask is None:
            return self.targets - begins >= MIN_HISTORY
        ends = np.maximum(self.targets, begins)
        return self._observed_before(ends) - self._observed_before(begins) >= MIN_HISTORY

    def _observed_before(self, rows: Ints) -> Ints:
        """Return how many rows of the panel before each of some rows were observed."""
        assert self.panel.mask is not None
        found, total = np.zeros(rows.shape, np.int64), 0
        for block in self.panel.blocks():
            seen = np.concatenate([[0], np.cumsum(self.panel.mask[block])]) + total
            here = (rows > block.start) & (rows <= block.stop)
            found[here], total = seen[rows[here] - block.start], int(seen[-1])
        return found

    @cached_property
    def actual(self) -> Floats:
        """Observed values, NaN where there are none and in windows that are not usable."""
        rows = np.maximum(self.targets, 0)[..., None] + np.arange(self.horizon)
        rows = np.minimum(rows, len(self.panel) - 1)
        values = self.panel.y[rows].astype(np.float64)
        seen = self.usable[..., None] if self.panel.mask is None else self.usable[..., None] & self.panel.mask[rows]
        return np.where(seen, values, np.nan)

    def training_part(self) -> Panel:
        """Return what is known at the earliest cut-off of each series of the panel that has a history there."""
        ends = self.panel.offsets[1:] - self.earliest
        kept = np.flatnonzero(ends - self.panel.first_observed >= MIN_HISTORY)
        return self.panel.pieces(kept, self.panel.offsets[:-1][kept], ends[kept])

    def some(self, count: int) -> Cutoffs:
        """Return the newest cut-offs of the first series."""
        return Cutoffs(self.panel, self.series[:count], self.horizon, self.backs)


def choose_cutoffs(panel: Panel, horizon: int, count: int, season: int) -> tuple[int, ...]:
    """Return the rows from each cut-off to the end of a series, one horizon apart, or less where series are short.

    Most of a median series stays before the earliest one, because networks are trained on nothing else, and two seasons
    where that is possible with one cut-off at least. Without room for a horizon and the least history there is none.
    """
    lengths = panel.offsets[1:] - panel.first_observed
    typical = int(np.median(lengths))
    if (lengths < horizon + MIN_HISTORY).all():
        return ()
    kept = max(int(_KEPT * typical), min(2 * season, typical - horizon), MIN_HISTORY)
    room = max(typical - kept, horizon)
    if room >= count * horizon:
        return tuple(horizon * number for number in range(1, count + 1))
    fewer = min(count, room - horizon + 1)
    apart = max((room - horizon) // max(fewer - 1, 1), 1)
    return tuple(horizon + apart * number for number in range(fewer))


def choose_series(panel: Panel, most: int, *, seed: int) -> Ints:
    """Return the series to judge on, in random order: all of them, or a sample where there are many."""
    order = np.random.default_rng(seed).permutation(panel.num_series)
    return order[: min(most, panel.num_series)].astype(np.int64)
