"""What a forecast costs, value by value, wherever the formula is needed both for arrays and for frames.

Arguments are arrays of one shape, and so is the answer.
"""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats


def mean_of(values: Floats, observed: Bools | None) -> float:
    """Return the mean over what was observed, all of it where there is no mask; NaN where that is nothing."""
    chosen = values if observed is None else values[observed]
    return float(chosen.mean()) if chosen.size else float("nan")


def error(actual: AnyFloats, forecast: AnyFloats) -> Floats:
    """Return forecast minus actual in double precision."""
    return np.asarray(forecast, np.float64) - np.asarray(actual, np.float64)


def symmetric_percentage(actual: AnyFloats, forecast: AnyFloats) -> Floats:
    """Return ``200 |e| / (|actual| + |forecast|)``; 0 where both are zero, because the forecast is right."""
    size = np.abs(np.asarray(actual, np.float64)) + np.abs(np.asarray(forecast, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size == 0, 0.0, 200 * np.abs(error(actual, forecast)) / size)


def pinball(actual: AnyFloats, quantile: AnyFloats, share: float) -> Floats:
    """Return ``share`` times how far the quantile is too low, or ``1 - share`` times how far it is too high."""
    excess = error(actual, quantile)
    return np.maximum(-share * excess, (1 - share) * excess)


def winkler(actual: AnyFloats, lower: AnyFloats, upper: AnyFloats, level: float) -> Floats:
    """Return the width, plus ``2 / (1 - level / 100)`` times how far the value lies outside of the interval."""
    outside = np.maximum(error(actual, lower), 0) + np.maximum(error(upper, actual), 0)
    return error(lower, upper) + 200 / (100 - level) * outside
