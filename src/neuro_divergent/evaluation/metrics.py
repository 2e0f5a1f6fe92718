"""How far forecasts are from what happened.

Every function takes arrays of the same shape, usually ``(windows, horizon)``, in the units of the data, and a mask of
what was observed (``None`` when all of it was). Values outside the mask are never looked at. The result is a number, or
NaN where it is not defined, for instance because nothing was observed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def mae(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Mean absolute error."""
    return _mean(np.abs(_error(actual, forecast)), observed)


def mse(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Mean squared error."""
    return _mean(np.square(_error(actual, forecast)), observed)


def rmse(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(mse(actual, forecast, observed)))


def bias(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Mean of forecast minus actual: positive when forecasts are too high."""
    return _mean(_error(actual, forecast), observed)


def mape(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Mean absolute error in percent of the actual value; actual values of zero are left out, having no percent."""
    size = np.abs(np.asarray(actual, np.float64))
    usable = size > 0 if observed is None else (size > 0) & observed
    with np.errstate(divide="ignore", invalid="ignore"):
        return 100 * _mean(np.abs(_error(actual, forecast)) / size, usable)


def smape(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Symmetric percentage error as in the M4 competition: ``200 |e| / (|actual| + |forecast|)``, from 0 to 200.

    Where both are zero the forecast is right and the error is 0.
    """
    size = np.abs(np.asarray(actual, np.float64)) + np.abs(np.asarray(forecast, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(size == 0, 0.0, np.abs(_error(actual, forecast)) / size)
    return 200 * _mean(share, observed)


def wape(actual: Floats, forecast: Floats, observed: Mask | None = None) -> float:
    """Sum of absolute errors in percent of the sum of absolute actual values."""
    size = _mean(np.abs(np.asarray(actual, np.float64)), observed)
    return 100 * mae(actual, forecast, observed) / size if size > 0 else float("nan")


def mase(actual: Floats, forecast: Floats, scale: Floats, observed: Mask | None = None) -> float:
    """Mean absolute scaled error (Hyndman & Koehler, 2006): errors in units of the naive error before the forecast.

    Args:
        actual: What happened, ``(windows, horizon)``.
        forecast: What was forecast.
        scale: ``seasonal_error`` of the series of each window, ``(windows,)``. Windows whose scale is zero or NaN (a
            constant or too short a history) are left out, because any error would be infinitely large.
        observed: Which actual values were observed.
    """
    usable = np.broadcast_to((np.isfinite(scale) & (scale > 0))[:, None], np.shape(actual))
    usable = usable if observed is None else usable & observed
    with np.errstate(divide="ignore", invalid="ignore"):
        return _mean(np.abs(_error(actual, forecast)) / np.asarray(scale, np.float64)[:, None], usable)


def coverage(actual: Floats, lower: Floats, upper: Floats, observed: Mask | None = None) -> float:
    """Percentage of actual values inside the interval, its ends included."""
    return 100 * _mean(((actual >= lower) & (actual <= upper)).astype(np.float64), observed)


def width(lower: Floats, upper: Floats, observed: Mask | None = None) -> float:
    """Mean width of the interval."""
    return _mean(_error(lower, upper), observed)


def skill(error: float, reference: float) -> float:
    """Share of a reference error that a forecast saves: 0 is as good, 1 is perfect, below 0 is worse."""
    return 1 - error / reference if reference > 0 else float("nan")


def seasonal_error(
    values: Floats, offsets: Integers, ends: Integers, season_length: int, observed: Mask | None = None
) -> npt.NDArray[np.float64]:
    """Return the mean absolute difference between values one season apart, for each series.

    Args:
        values: All series end to end.
        offsets: Where each series begins, and the end, ``(num_series + 1,)``.
        ends: Row after the last one to look at, for each series.
        season_length: Rows in a season; 1 compares neighbours.
        observed: Which values were observed; a pair counts when both were.

    Returns:
        One number per series; NaN where there is no pair.
    """
    begins = offsets[:-1]
    if len(values) <= season_length:
        return np.full(len(begins), np.nan)
    difference = np.abs(_error(values[:-season_length], values[season_length:]))
    usable = np.ones(len(difference)) if observed is None else observed[:-season_length] & observed[season_length:]
    sums, counts = _cumulative(np.where(usable, difference, 0.0)), _cumulative(usable)
    last = np.maximum(ends - season_length, begins)
    count = counts[last] - counts[begins]
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, (sums[last] - sums[begins]) / np.maximum(count, 1), np.nan)


def _cumulative(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return sums of the first 0, 1, 2, ... values."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _error(actual: Floats, forecast: Floats) -> npt.NDArray[np.float64]:
    return np.asarray(forecast, np.float64) - np.asarray(actual, np.float64)


def _mean(values: npt.NDArray[np.float64], observed: Mask | None) -> float:
    chosen = values if observed is None else values[observed]
    return float(chosen.mean()) if chosen.size else float("nan")
