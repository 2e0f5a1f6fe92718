"""Errors and losses of single values: the formulas that metrics of arrays and of tables share.

Arguments are arrays of one shape, and so is the result.
"""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats


def mean_of(values: Floats, observed: Bools | None) -> float:
    """Return the mean over the observed values, or over all without a mask; NaN if there is none."""
    chosen = values if observed is None else values[observed]
    return float(chosen.mean()) if chosen.size else float("nan")


def error(actual: AnyFloats, forecast: AnyFloats) -> Floats:
    """Return forecast minus actual in double precision."""
    return np.asarray(forecast, np.float64) - np.asarray(actual, np.float64)


def symmetric_percentage(actual: AnyFloats, forecast: AnyFloats) -> Floats:
    """Return ``200 |e| / (|actual| + |forecast|)``; 0 where both are zero."""
    size = np.abs(np.asarray(actual, np.float64)) + np.abs(np.asarray(forecast, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size == 0, 0.0, 200 * np.abs(error(actual, forecast)) / size)


def is_covered(actual: AnyFloats, lower: AnyFloats, upper: AnyFloats) -> Floats:
    """Return 1 where the actual value lies in the interval, bounds included, and 0 elsewhere."""
    return ((actual >= lower) & (actual <= upper)).astype(np.float64)


def pinball(actual: AnyFloats, forecast: AnyFloats, quantile: float) -> Floats:
    """Return ``quantile`` times how far the forecast is too low, or ``1 - quantile`` times how far it is too high."""
    excess = error(actual, forecast)
    return np.maximum(-quantile * excess, (1 - quantile) * excess)


def winkler(actual: AnyFloats, lower: AnyFloats, upper: AnyFloats, level: float) -> Floats:
    """Return the width, plus ``2 / (1 - level / 100)`` times the distance of the value from the interval."""
    outside = np.maximum(error(actual, lower), 0) + np.maximum(error(upper, actual), 0)
    return error(lower, upper) + 200 / (100 - level) * outside
