"""Naive forecasts that every search begins with: they cost nothing, and nothing may be worse."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.baselines import Baselines

ZERO = "zero"
NAIVE = ("seasonal_naive", "naive", "drift", "window_average", "window_median", "seasonal_average", ZERO)
_SEASONS = 3  # that are averaged
_SHORTEST = 6  # rows of a window average where there is no season


def naive_forecast(name: str, panel: Panel, series: Ints, targets: Ints, horizon: int, season: int) -> Floats:
    """Return a naive forecast of windows, ``(windows, horizon)``; 0 where nothing was observed before.

    Args:
        name: One of ``NAIVE``: the value of the last season, the last value, the straight line through the first and
            the last value, the mean or the median of the last rows, the mean of each phase over the last seasons, or 0,
            which is the median of demand that is mostly absent.
        panel: The series.
        series: Index of each window's series in the panel.
        targets: First target row of each window.
        horizon: Steps to forecast.
        season: Rows in a season.
    """
    baselines = Baselines(panel, series, targets, horizon, season)
    if name == "seasonal_naive":
        made = baselines.seasonal_naive()
    elif name == "naive":
        made = baselines.last_value()
    elif name == "drift":
        made = baselines.drift()
    elif name in ("window_average", "window_median"):
        back = np.arange(1, max(season, _SHORTEST) + 1)
        middle = (_mean if name == "window_average" else _median)(panel, series, targets[:, None] - back)
        made = np.repeat(middle[:, None], horizon, axis=1)
    elif name == ZERO:
        made = np.zeros((len(series), horizon))
    else:
        steps = np.arange(horizon) % season
        back = season * np.arange(1, _SEASONS + 1)
        made = _mean(panel, series, targets[:, None, None] + steps[:, None] - back)
    made = np.where(np.isnan(made), baselines.last_value(), made)
    return np.nan_to_num(made.astype(np.float64), nan=0.0)


def _mean(panel: Panel, series: Ints, rows: Ints) -> Floats:
    """Return the mean over the last axis of observed values of a series, NaN where there are none."""
    values = _observed(panel, series, rows)
    seen = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(seen, values, 0.0).sum(-1) / seen.sum(-1)
    return mean


def _median(panel: Panel, series: Ints, rows: Ints) -> Floats:
    """Return the median over the last axis of observed values of a series, NaN where there are none."""
    values = _observed(panel, series, rows)
    known = np.asarray(np.isfinite(values).any(-1))
    median: Floats = np.where(known, np.nanmedian(np.where(known[..., None], values, 0.0), axis=-1), np.nan)
    return median


def _observed(panel: Panel, series: Ints, rows: Ints) -> Floats:
    """Return values of series at rows, NaN where a series has none."""
    begins = panel.offsets[:-1][series].reshape(-1, *([1] * (rows.ndim - 1)))
    places = np.maximum(rows, 0)
    seen = rows >= begins
    if panel.mask is not None:
        seen &= panel.mask[places]
    return np.where(seen, panel.y[places].astype(np.float64), np.nan)
