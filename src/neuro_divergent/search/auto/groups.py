"""Groups of series that may be forecast with weights of their own, and what a panel is like as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.data.panel import Panel

Group = Literal["intermittent", "short", "seasonal", "smooth"]
GROUPS: tuple[Group, ...] = ("intermittent", "short", "seasonal", "smooth")

_ADI = 1.32  # mean rows between two demands from which Syntetos and Boylan (2005) call a series intermittent
_ERRATIC = 0.49  # squared coefficient of variation of demand sizes that they call erratic
_SHORT_SEASONS = 3.0
_SHORT_HORIZONS = 4.0
_SEASONAL = 0.3  # autocorrelation at the season, without trend
_ROWS = 2048  # of the end of a series that are looked at


@dataclass(frozen=True, eq=False)
class SeriesTraits:
    """What decides which models suit a series; arrays are ``(series,)``.

    Attributes:
        length: Observed rows.
        interval: Mean rows between two values that are not 0 (the average demand interval); infinite without any.
        variation: Squared coefficient of variation of values that are not 0.
        seasonality: Autocorrelation of differences of the series at its season; 0 where it is too short to tell.
        horizon: Steps to forecast.
        season: Rows in a season.
    """

    length: Ints
    interval: Floats
    variation: Floats
    seasonality: Floats
    horizon: int
    season: int

    @classmethod
    def of(cls, panel: Panel, series: Ints, ends: Ints, *, horizon: int, season: int) -> SeriesTraits:
        """Look at the rows of some series before some rows; nothing after them is used."""
        found = np.array([_traits(panel, int(s), int(end), season) for s, end in zip(series, ends, strict=True)])
        found = found.reshape(-1, 4)
        return cls(found[:, 0].astype(np.int64), found[:, 1], found[:, 2], found[:, 3], horizon, season)

    @property
    def is_intermittent(self) -> Bools:
        """Whether demand is intermittent or lumpy after Syntetos and Boylan: mostly zero."""
        return self.interval >= _ADI

    @property
    def is_lumpy(self) -> Bools:
        """Whether, in addition, the sizes of demand vary much."""
        return self.is_intermittent & (self.variation >= _ERRATIC)

    @property
    def is_short(self) -> Bools:
        """Whether there are fewer than three seasons or four horizons."""
        least = max(_SHORT_SEASONS * self.season if self.season > 1 else 0.0, _SHORT_HORIZONS * self.horizon)
        return self.length < least

    @property
    def groups(self) -> Ints:
        """Place of the group of each series in ``GROUPS``; the first that applies."""
        conditions = [self.is_intermittent, self.is_short, self.seasonality >= _SEASONAL]
        return np.select(conditions, [0, 1, 2], default=3).astype(np.int64)


def _traits(panel: Panel, series: int, end: int, season: int) -> tuple[float, float, float, float]:
    begin = int(panel.offsets[series])
    begin = max(begin, end - _ROWS)
    values = panel.y[begin:end].astype(np.float64)
    if panel.mask is not None:
        values = values[panel.mask[begin:end]]
    if not len(values):
        return 0.0, 1.0, 0.0, 0.0
    demand = values[values != 0]
    interval = len(values) / len(demand) if len(demand) else np.inf
    mean = demand.mean() if len(demand) else 0.0
    variation = float((demand.std() / mean) ** 2) if mean else 0.0
    return float(len(values)), float(interval), variation, _seasonality(values, season)


def _seasonality(values: Floats, season: int) -> float:
    """Return the autocorrelation of first differences at a lag of one season."""
    if season < 2 or len(values) < 2 * season + 2:
        return 0.0
    change = np.diff(values)
    change = change - change.mean()
    power = float((change**2).sum())
    return float((change[season:] * change[:-season]).sum() / power) if power > 0 else 0.0
