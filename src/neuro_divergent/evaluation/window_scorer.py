"""Scores of forecasts of windows and of the baselines, block by block."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation import metrics
from neuro_divergent.evaluation.baselines import NAMES, Baselines
from neuro_divergent.evaluation.cross_validation.forecast_values import FORECAST, id_column, name_rows, values_of
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.score_sums import IntervalSums, PointSums, SeriesSums
from neuro_divergent.evaluation.window_blocks import SMALL

if TYPE_CHECKING:
    from neuro_divergent.forecasting.predictor import WindowForecasts

REFERENCE = "seasonal naive"
_MOST_VALUES = 2**19  # of the table of forecasts of a large panel
_INTERVAL_SCORES = ("level", "coverage", "width")


@dataclasses.dataclass(frozen=True)
class Kept:
    """Which forecasts are kept as a table.

    Attributes:
        series: Whether those of each series are; ``None`` for all.
        every: Of the windows of such series, one in so many.
        count: Number of series that are kept.
        total: Number of series with windows.
    """

    series: Bools | None = None
    every: int = 1
    count: int = 0
    total: int = 0

    @classmethod
    def of(cls, windows: Windows) -> Kept:
        """Keep all forecasts of a small panel or of few windows, and those of evenly spread series of other panels."""
        panel, horizon = windows.panel, windows.horizon
        counts = _windows_of_series(windows)
        if len(panel) <= SMALL or int(counts.sum()) * horizon <= _MOST_VALUES:
            return cls()
        places = np.flatnonzero(counts)
        typical = int(counts.sum()) * horizon / len(places)
        spread = np.linspace(0, len(places) - 1, max(int(_MOST_VALUES / typical), 1))
        chosen = places[np.unique(spread.astype(np.int64))]
        series = np.zeros(panel.num_series, np.bool_)
        series[chosen] = True
        every = max(math.floor(int(counts[chosen].sum()) * horizon / _MOST_VALUES), 1)
        return cls(series, every, len(chosen), len(places))

    @property
    def note(self) -> str:
        """What is said about it; nothing where all are kept."""
        if self.series is None:
            return ""
        which = f"{self.count:,} of {self.total:,} series, evenly spread"
        more = f", and of these one window in {self.every:,}" if self.every > 1 else ""
        return f" Scores are over all forecasts; the table of forecasts holds those of {which}{more}."

    def places(self, result: WindowForecasts, begin: int, channels: int) -> Ints | None:
        """Return which windows of a block are kept; ``None`` for all.

        ``begin`` counts the forecasts before the block, and ``channels`` those of each window.
        """
        if self.series is None:
            return None
        kept = self.series[result.series]
        if self.every > 1:
            kept &= (begin + np.arange(len(kept))) // channels % self.every == 0
        return np.flatnonzero(kept)


class WindowScorer:
    """Compares forecasts of windows of a panel with the observed values and with the baselines.

    Args:
        panel: The series.
        first: First target row of each series; the number of rows of the panel for series without one.
        season_length: Rows in a season.
        kept: Which forecasts are kept as a table.
        channels: Forecasts of each window: the number of series where a window spans all of them.
    """

    def __init__(self, panel: Panel, first: Ints, season_length: int, kept: Kept, channels: int = 1) -> None:
        self.panel, self.season_length, self.kept = panel, season_length, kept
        self.windows, self._channels = 0, channels
        ends = np.minimum(first, panel.offsets[1:])
        self._scale = metrics.seasonal_error(panel.y, panel.offsets, ends, season_length, panel.mask)
        self._own, self._naive = PointSums(), {name: PointSums() for name in NAMES}
        self._series, self._intervals = SeriesSums(panel.num_series), IntervalSums()
        self._tables: list[pl.DataFrame] = []

    def add(self, result: WindowForecasts) -> None:
        """Score the forecasts of some windows."""
        horizon = result.point.shape[1]
        baselines = Baselines(self.panel, result.series, result.rows, horizon, self.season_length).all()
        # Every forecast is scored on the same values: those that were observed and that a baseline could forecast.
        observed = result.observed & np.isfinite(baselines[NAMES[0]])
        scale: Floats = self._scale[result.series]
        self._own.add(result.actual, result.point, observed, scale)
        for name, forecast in baselines.items():
            self._naive[name].add(result.actual, forecast, observed, scale)
        self._series.add(result.series, result.actual, result.point, baselines[REFERENCE], observed)
        self._intervals.add(result.actual, result.lower, result.upper, observed)
        places = self.kept.places(result, self.windows, self._channels)
        if places is None or len(places) or not self._tables:
            self._tables.append(_long(*_some(result, baselines, places), self.panel))
        self.windows += len(result.rows)

    def table(self, model: str) -> pl.DataFrame:
        """Return a row of scores for the model and one for each baseline; a model that is one has one row."""
        reference, every = self._naive[REFERENCE].mae, {model: self._own, **self._naive}
        rows: list[dict[str, Any]] = [{"model": name, **sums.scores(reference)} for name, sums in every.items()]
        return pl.DataFrame(rows)

    def per_series(self) -> pl.DataFrame:
        """Return the scores of the model for each series with observed values."""
        columns = {id_column(self.panel): self.panel.ids, **self._series.columns(self._scale)}
        return pl.DataFrame(columns).filter(pl.col("values") > 0)

    def coverage(self) -> pl.DataFrame:
        """Return the scores of the intervals of each level."""
        return pl.DataFrame(self._intervals.rows(), schema=dict.fromkeys(_INTERVAL_SCORES, pl.Float64))

    def forecasts(self) -> pl.DataFrame:
        """Return a row for each forecast value that is kept."""
        return self._tables[0] if len(self._tables) == 1 else pl.concat(self._tables)


def _windows_of_series(windows: Windows) -> Ints:
    """Return how many windows each series of the panel has."""
    count = windows.panel.num_series
    if windows.joint:
        return np.full(count, len(windows))
    if isinstance(windows, WindowList):
        return np.bincount(windows.series, minlength=count).astype(np.int64)
    return windows.counts


def _some(
    result: WindowForecasts, baselines: dict[str, AnyFloats], places: Ints | None
) -> tuple[WindowForecasts, dict[str, AnyFloats]]:
    """Return the forecasts of some windows."""
    if places is None:
        return result, baselines
    arrays: dict[str, Any] = {
        name: getattr(result, name)[places] for name in ("series", "rows", "point", "actual", "observed")
    }
    bounds: dict[str, Any] = {
        name: {key: values[places] for key, values in getattr(result, name).items()}
        for name in ("lower", "upper", "quantiles")
    }
    chosen = dataclasses.replace(result, **arrays, **bounds)
    return chosen, {name: values[places] for name, values in baselines.items()}


def _long(result: WindowForecasts, baselines: dict[str, AnyFloats], panel: Panel) -> pl.DataFrame:
    """Return a row for each forecast value."""
    actual = pl.Series("actual", result.actual.reshape(-1).astype(np.float64))
    actual = actual.set(pl.Series(~result.observed.reshape(-1)), None)
    frame = name_rows(values_of(result), panel).with_columns(actual)
    before = frame.get_column_index(FORECAST) + 1
    columns = [pl.Series(name, forecast.reshape(-1)) for name, forecast in baselines.items()]
    return pl.DataFrame([*frame.get_columns()[:before], *columns, *frame.get_columns()[before:]])
