"""Scores of forecasts of quantiles, intervals, densities and samples.

As in ``metrics``, arrays are usually ``(windows, horizon)`` in the units of the data, with a mask of the observed
values, and the result is a number, or NaN where it is not defined. Quantile forecasts are given by their level between
0 and 1, as in window forecasts; samples add a last axis, ``(windows, horizon, samples)``. Lower scores are better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation import pointwise
from neuro_divergent.evaluation.pointwise import mean_of

_TOGETHER = 1 << 22  # distances between samples that are held at once: 32 MB


def pinball(actual: AnyFloats, forecast: AnyFloats, quantile: float, observed: Bools | None = None) -> float:
    """Pinball loss of the forecast of one quantile, which is lowest, on average, for the true quantile.

    With the quantile 0.5 it is half of the mean absolute error.

    Examples:
        An error of 2 costs nine times as much if the forecast of the 0.9 quantile is too low:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual = np.array([[10.0]])
        >>> [round(nd.metrics.pinball(actual, np.array([[forecast]]), 0.9), 2) for forecast in (8.0, 12.0)]
        [1.8, 0.2]
    """
    return mean_of(pointwise.pinball(actual, forecast, _checked(quantile)), observed)


def crps_quantiles(actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None) -> float:
    """Continuous ranked probability score from quantiles: twice their mean pinball loss.

    The score is twice the pinball loss averaged over all quantiles from 0 to 1; this is the average over the given
    ones, which is close if they are many and evenly spread. For values from a standard Normal, whose score is 0.564,
    the 99 quantiles 0.01 to 0.99 give 0.570, the ten quantiles 0.05, 0.15, ..., 0.95 give 0.568, the nine quantiles 0.1
    to 0.9 give 0.617, and the two quantiles 0.1 and 0.9 give 0.351. So compare only scores of the same quantiles.

    Examples:
        Twice the mean of the pinball losses 0.2, 0 and 0.2:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> quantiles = {0.1: np.array([[8.0]]), 0.5: np.array([[10.0]]), 0.9: np.array([[12.0]])}
        >>> round(nd.metrics.crps_quantiles(np.array([[10.0]]), quantiles), 3)
        0.267
    """
    losses = [pinball(actual, quantiles[quantile], quantile, observed) for quantile in _levels(quantiles)]
    return 2 * float(np.mean(losses))


def scaled_crps(actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None) -> float:
    """``crps_quantiles`` in percent of the mean absolute actual value, as ``wape`` is for a point forecast.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> quantiles = {0.1: np.array([[8.0]]), 0.5: np.array([[10.0]]), 0.9: np.array([[12.0]])}
        >>> round(nd.metrics.scaled_crps(np.array([[10.0]]), quantiles), 2)  # 0.267 in percent of 10
        2.67
    """
    size = mean_of(np.abs(np.asarray(actual, np.float64)), observed)
    return 100 * crps_quantiles(actual, quantiles, observed) / size if size > 0 else math.nan


def crps_samples(actual: AnyFloats, samples: AnyFloats, observed: Bools | None = None, *, fair: bool = False) -> float:
    """Continuous ranked probability score from samples (Gneiting & Raftery, 2007): ``E|X - y| - E|X - X'| / 2``.

    With ``fair`` the score of the distribution is estimated without bias, which needs at least two samples, instead of
    that of the empirical distribution of the samples (Ferro, 2014), which is higher by ``E|X - X'| / 2n`` for ``n``
    samples.

    Examples:
        Both samples are 1 away from the value and 2 from each other. Of the four pairs of samples, two are of one and
        itself, which ``fair`` leaves out:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual, samples = np.array([[0.0]]), np.array([[[-1.0, 1.0]]])
        >>> nd.metrics.crps_samples(actual, samples), nd.metrics.crps_samples(actual, samples, fair=True)
        (0.5, 0.0)
    """
    drawn = np.asarray(samples, np.float64) - np.asarray(actual, np.float64)[..., None]
    drawn = drawn.reshape(-1, drawn.shape[-1]) if observed is None else drawn[observed]
    count = drawn.shape[-1]
    drawn.sort(axis=-1)
    # Of n sorted numbers, the k-th is the larger one of k - 1 pairs and the smaller one of n - k.
    distances = drawn @ (2.0 * np.arange(count) - count + 1)
    return mean_of(np.abs(drawn).mean(axis=-1) - distances / _pairs(count, fair), None) if count else math.nan


def energy_score(actual: AnyFloats, samples: AnyFloats, observed: Bools | None = None, *, fair: bool = False) -> float:
    """Energy score (Gneiting & Raftery, 2007) of trajectories: ``crps_samples`` with distances between vectors.

    It takes the dependence between the steps of a horizon into account; only observed steps of a window count. With one
    step it equals ``crps_samples``. The time grows with the square of the number of samples.

    Examples:
        Both sets of samples have the same values at each step. Only the energy score sees that the steps of the second
        do not move together as they should:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual = np.array([[1.0, 1.0]])
        >>> together, apart = np.array([[[-1.0, 1.0], [-1.0, 1.0]]]), np.array([[[-1.0, 1.0], [1.0, -1.0]]])
        >>> [round(nd.metrics.energy_score(actual, samples), 3) for samples in (together, apart)]
        [0.707, 1.293]
        >>> [round(nd.metrics.crps_samples(actual, samples), 3) for samples in (together, apart)]
        [0.5, 0.5]
    """
    drawn = np.asarray(samples, np.float64) - np.asarray(actual, np.float64)[..., None]
    if observed is not None:
        drawn = np.where(observed[..., None], drawn, 0.0)[observed.any(axis=1)]
    windows, _, count = drawn.shape
    if not windows or not count:
        return math.nan
    together = max(1, _TOGETHER // count**2)
    distances = [_mean_distance(drawn[begin : begin + together]) for begin in range(0, windows, together)]
    spread = np.concatenate(distances) * (count**2 / (2 * _pairs(count, fair)))
    return mean_of(np.sqrt(np.square(drawn).sum(axis=1)).mean(axis=-1) - spread, None)


def winkler(
    actual: AnyFloats, lower: AnyFloats, upper: AnyFloats, level: float, observed: Bools | None = None
) -> float:
    """Winkler or interval score: the width, plus a penalty for values outside that grows with their distance.

    The penalty is ``2 / (1 - level / 100)`` times the distance, so that the true central interval of this level, in
    percent, has the best expected score.

    Examples:
        An interval of width 4 for 80 %; a value that lies 1 above it costs 2 / 0.2 more:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> lower, upper = np.array([[8.0]]), np.array([[12.0]])
        >>> [round(nd.metrics.winkler(np.array([[actual]]), lower, upper, level=80), 2) for actual in (10.0, 13.0)]
        [4.0, 14.0]
    """
    if not 0 < level < 100:
        raise InputError(f"level: {level!r} must lie between 0 and 100, such as 80.")
    return mean_of(pointwise.winkler(actual, lower, upper, level), observed)


def calibration(actual: AnyFloats, quantile: AnyFloats, observed: Bools | None = None) -> float:
    """Percentage of actual values that are not above a quantile forecast; ideally 100 times its level.

    This is a metric of one quantile. ``evaluation.calibration`` checks all intervals of a forecaster.

    Examples:
        Three of four values are not above the forecast of a quantile, which would be right for the quantile 0.75:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.calibration(np.array([[1.0, 2.0, 3.0, 4.0]]), np.full((1, 4), 3.0))
        75.0
    """
    return 100 * mean_of((np.asarray(actual) <= quantile).astype(np.float64), observed)


def calibration_error(actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None) -> float:
    """Mean distance between ``calibration`` and the level of each quantile, in percentage points from 0 to 100.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual = np.array([[1.0, 2.0, 3.0, 4.0]])
        >>> round(nd.metrics.calibration_error(actual, {0.5: np.full((1, 4), 2.0), 0.9: np.full((1, 4), 3.0)}), 2)
        7.5
    """
    levels = [_checked(level) for level in _levels(quantiles)]
    return float(np.mean([abs(calibration(actual, quantiles[level], observed) - 100 * level) for level in levels]))


def log_score(log_density: AnyFloats, observed: Bools | None = None) -> float:
    """Mean negative log likelihood of the observed values.

    ``log_density`` is the natural logarithm of the forecast density at each observed value, in the units of the data;
    of the probability for counts.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> probabilities = np.array([[0.5, 0.25]])  # that a forecast gave to the counts that were observed
        >>> round(nd.metrics.log_score(np.log(probabilities)), 3)  # one and a half times log 2
        1.04
    """
    return -mean_of(np.asarray(log_density, np.float64), observed)


def normal_log_score(actual: AnyFloats, mean: AnyFloats, deviation: AnyFloats, observed: Bools | None = None) -> float:
    """``log_score`` of Normal distributions; NaN where a standard deviation is not positive.

    Examples:
        A distribution that is too narrow costs more than one that is as much too wide:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual, mean = np.array([[2.0]]), np.array([[0.0]])
        >>> [round(nd.metrics.normal_log_score(actual, mean, np.array([[spread]])), 2) for spread in (0.5, 2.0, 8.0)]
        [8.23, 2.11, 3.03]
    """
    deviation = np.asarray(deviation, np.float64)
    spread = np.where(deviation > 0, deviation, np.nan)
    density = -0.5 * np.square(pointwise.error(actual, mean) / spread) - np.log(spread) - 0.5 * math.log(2 * math.pi)
    return log_score(density, observed)


def _mean_distance(drawn: Floats) -> Floats:
    """Return the mean distance of two samples of each window, ``(windows, steps, samples)``, equal ones included."""
    # Centred first, because the squares that cancel in a distance are then no larger than the distances.
    points = np.moveaxis(drawn - drawn.mean(axis=-1, keepdims=True), 1, -1)
    sizes, count = np.square(points).sum(axis=-1), points.shape[1]
    total, together = np.zeros(len(points)), max(1, _TOGETHER // count)
    for begin in range(0, count, together):
        rows = slice(begin, begin + together)
        squares = sizes[:, rows, None] + sizes[:, None, :] - 2 * points[:, rows] @ np.moveaxis(points, 1, -1)
        total += np.sqrt(np.maximum(squares, 0)).sum(axis=(1, 2))
    mean: Floats = total / count**2
    return mean


def _pairs(count: int, fair: bool) -> float:
    """Return the number of pairs of samples to divide by; NaN if there is none."""
    pairs = count * (count - 1) if fair else count**2
    return pairs or math.nan


def _checked(quantile: float) -> float:
    if not 0 < quantile < 1:
        raise InputError(f"quantile: {quantile!r} must lie between 0 and 1, such as 0.9 for the ninetieth percentile.")
    return quantile


def _levels(quantiles: Mapping[float, AnyFloats]) -> list[float]:
    if not quantiles:
        raise InputError("quantiles: pass at least one array by its level, such as {0.9: upper}.")
    return list(quantiles)
