"""The metric of a search: one number for forecasts of all windows, averaged over series where it is scaled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.evaluation.metrics import seasonal_error
from neuro_divergent.evaluation.scoring.formulas import METRICS, Values
from neuro_divergent.search.auto.cutoffs import Cutoffs

SQUARED = ("mse", "rmse", "rmsse")
"""Metrics whose best forecast is the mean, not the median."""

_USABLE = tuple(
    name for name, metric in METRICS.items() if metric.needs == "point" and metric.is_error and metric.measure
)


def check_metric(name: str) -> str:
    """Return the name of a metric that a search can minimise.

    Raises:
        InputError: If it is none, or not an error of point forecasts.
    """
    if name not in _USABLE:
        hint = did_you_mean(name, _USABLE)
        raise InputError(
            f"metric: {name!r} is not an error of point forecasts.{hint} Choose one of {', '.join(_USABLE)}."
        )
    return name


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores forecasts of the windows of back-tests; lower is better.

    Series whose naive error is not known or 0 are left out of scaled metrics, as everywhere, unless that would leave
    nothing: then they are scaled by the size of their values.

    Attributes:
        metric: Name of the metric.
        actual: Observed values, ``(cut-offs, series, horizon)``, NaN where there are none.
        scale: Mean absolute seasonal naive error of each series, ``(series,)``.
        squared_scale: The root of the mean of its squares.
    """

    metric: str
    actual: Floats
    scale: Floats
    squared_scale: Floats

    @classmethod
    def of(cls, metric: str, cutoffs: Cutoffs, season: int) -> Scoring:
        """Measure the naive errors of the series; with a lag of 1 where they are short.

        All rows count. The scale only says how much a series counts, and that of a few rows before the earliest cut-off
        would let some short series decide.
        """
        panel, actual, ends = cutoffs.panel, cutoffs.actual, cutoffs.panel.offsets[1:]
        scales = []
        for squared in (False, True):
            by_season, by_row = (
                seasonal_error(panel.y, panel.offsets, ends, lag, panel.mask, squared=squared)[cutoffs.series]
                for lag in (season, 1)
            )
            scale = np.where(np.isfinite(by_season) & (by_season > 0), by_season, by_row)
            if not (scale > 0).any():
                size = np.nanmean(np.abs(np.where(np.isnan(actual), 0.0, actual)), axis=(0, 2))
                scale = np.where(size > 0, size, 1.0)
            scales.append(scale)
        return cls(metric, actual, *scales)

    def part(self, cutoffs: Ints | None = None, series: Ints | None = None) -> Scoring:
        """Return the same for some cut-offs, or some of the series."""
        actual = self.actual if cutoffs is None else self.actual[cutoffs]
        if series is None:
            return Scoring(self.metric, actual, self.scale, self.squared_scale)
        return Scoring(self.metric, actual[:, series], self.scale[series], self.squared_scale[series])

    def score(self, forecast: Floats) -> float:
        """Return the score of forecasts shaped like ``actual``; NaN where nothing can be scored."""
        if self.metric == "mase":  # the usual one, and the inner loop of selection
            total = float(np.nansum(np.abs(forecast - self.actual) * self._inverse_scale[:, None]))
            return total / self._count if self._count else float("nan")
        chosen = ~np.isnan(self.actual)
        places = np.nonzero(chosen)
        values = Values(
            group=np.zeros(len(places[0]), np.int64),
            num_groups=1,
            actual=self.actual[chosen],
            forecast=forecast[chosen],
            scale=self.scale[places[1]],
            squared_scale=self.squared_scale[places[1]],
        )
        measure = METRICS[self.metric].measure
        assert measure is not None
        return float(measure(values)[0]) if len(places[0]) else float("nan")

    def by_cutoff(self, forecast: Floats) -> Floats:
        """Return the score at each cut-off, ``(cut-offs,)``."""
        numbers = range(len(self.actual))
        return np.array([self.part(np.array([place])).score(forecast[place : place + 1]) for place in numbers])

    @cached_property
    def _inverse_scale(self) -> Floats:
        """One by the scale, and 0 for series that do not count."""
        usable = np.isfinite(self.scale) & (self.scale > 0)
        return np.where(usable, 1.0, 0.0) / np.where(usable, self.scale, 1.0)

    @cached_property
    def _count(self) -> int:
        return int((~np.isnan(self.actual) & (self._inverse_scale > 0)[:, None]).sum())


def series_of_windows(cutoffs: Cutoffs) -> tuple[Ints, Ints]:
    """Return series and first target row of every usable window, one cut-off after another."""
    places = np.nonzero(cutoffs.usable)
    return cutoffs.series[places[1]], cutoffs.targets[places]
