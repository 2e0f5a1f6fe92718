"""How good forecasts of quantiles, intervals, densities and draws are.

As in ``metrics``, arrays are usually ``(windows, horizon)`` in the units of the data, with a mask of what was observed
outside of which nothing is looked at, and the result is a number, or NaN where it is not defined. Quantiles come by
their share, as window forecasts hold them; draws add a last axis, ``(windows, horizon, draws)``. All scores are better
when they are lower.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation import pointwise
from neuro_divergent.evaluation.pointwise import mean_of

_TOGETHER = 1 << 22  # Distances between draws that are held at once: 32 MB.


def pinball(actual: AnyFloats, quantile: AnyFloats, share: float, observed: Bools | None = None) -> float:
    """Pinball loss of one quantile: lowest, on average, where ``share`` of the actual values lie below it.

    With a share of 0.5 it is half of the mean absolute error.
    """
    return mean_of(pointwise.pinball(actual, quantile, _share(share)), observed)


def crps_quantiles(actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None) -> float:
    """Continuous ranked probability score from quantiles: twice their mean pinball loss.

    The score is twice the pinball loss averaged over all shares from 0 to 1; this is its average over those at hand. It
    comes close where they are many and evenly spread. For values from a standard Normal, whose own score is 0.564, the
    99 shares 0.01 to 0.99 give 0.570, the ten shares 0.05, 0.15, ..., 0.95 give 0.568, the nine shares 0.1 to 0.9 give
    0.617, and the two shares 0.1 and 0.9 give 0.351. So compare only scores that come from the same shares.
    """
    return 2 * float(np.mean([pinball(actual, quantiles[share], share, observed) for share in _shares(quantiles)]))


def scaled_crps(actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None) -> float:
    """``crps_quantiles`` in percent of the mean absolute actual value, as ``wape`` is for a point forecast."""
    size = mean_of(np.abs(np.asarray(actual, np.float64)), observed)
    return 100 * crps_quantiles(actual, quantiles, observed) / size if size > 0 else math.nan


def crps_samples(actual: AnyFloats, samples: AnyFloats, observed: Bools | None = None, *, fair: bool = False) -> float:
    """Continuous ranked probability score from draws (Gneiting & Raftery, 2007): ``E|X - y| - E|X - X'| / 2``.

    Args:
        actual: What happened, ``(windows, horizon)``.
        samples: Draws from each forecast, ``(windows, horizon, draws)``.
        observed: Which actual values were observed.
        fair: Whether to judge the distribution that was drawn from, which needs two draws at least and is without bias
            for any number of them, instead of the draws as they are (Ferro, 2014). The plain score of ``n`` draws is
            higher by ``E|X - X'| / 2n``.
    """
    drawn = np.asarray(samples, np.float64) - np.asarray(actual, np.float64)[..., None]
    drawn = drawn.reshape(-1, drawn.shape[-1]) if observed is None else drawn[observed]
    count = drawn.shape[-1]
    drawn.sort(axis=-1)
    # Of n sorted numbers, the k-th is the larger one of k - 1 pairs and the smaller one of n - k.
    distances = drawn @ (2.0 * np.arange(count) - count + 1)
    return mean_of(np.abs(drawn).mean(axis=-1) - distances / _pairs(count, fair), None) if count else math.nan


def energy_score(actual: AnyFloats, samples: AnyFloats, observed: Bools | None = None, *, fair: bool = False) -> float:
    """Energy score (Gneiting & Raftery, 2007) of whole trajectories: ``crps_samples`` with distances between vectors.

    It judges how the steps of a horizon go together, not only each by itself. With one step it is the score of
    ``crps_samples``. The work grows with the square of the number of draws.

    Args:
        actual: What happened, ``(windows, horizon)``.
        samples: Trajectories drawn from each forecast, ``(windows, horizon, draws)``.
        observed: Which actual values were observed; a window is judged by those steps, and left out if there is none.
        fair: Whether to judge the distribution that was drawn from instead of the draws as they are.
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

    Args:
        actual: What happened.
        lower: Lower end of the interval.
        upper: Upper end of the interval.
        level: Percentage of values that the interval claims to hold. The penalty is ``2 / (1 - level / 100)`` times the
            distance, so that an honest interval of this level scores best.
        observed: Which actual values were observed.
    """
    if not 0 < level < 100:
        raise InputError(f"level: {level!r} must lie between 0 and 100, such as 80.")
    return mean_of(pointwise.winkler(actual, lower, upper, level), observed)


def calibration(actual: AnyFloats, quantile: AnyFloats, observed: Bools | None = None) -> float:
    """Percentage of actual values that are not above the quantile; it should be the share of the quantile."""
    return 100 * mean_of((np.asarray(actual) <= quantile).astype(np.float64), observed)


def calibration_error(actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None) -> float:
    """Mean distance between ``calibration`` and the share of each quantile, in percentage points from 0 to 100."""
    shares = _shares(quantiles)
    return float(
        np.mean([abs(calibration(actual, quantiles[share], observed) - 100 * _share(share)) for share in shares])
    )


def log_score(log_density: AnyFloats, observed: Bools | None = None) -> float:
    """Mean negative logarithm of the density that was forecast at what happened.

    Args:
        log_density: Its natural logarithm, in the units of the data; of the probability for counts.
        observed: Which actual values were observed.
    """
    return -mean_of(np.asarray(log_density, np.float64), observed)


def normal_log_score(actual: AnyFloats, mean: AnyFloats, deviation: AnyFloats, observed: Bools | None = None) -> float:
    """``log_score`` of Normal distributions; NaN where a standard deviation is not positive."""
    deviation = np.asarray(deviation, np.float64)
    spread = np.where(deviation > 0, deviation, np.nan)
    density = -0.5 * np.square(pointwise.error(actual, mean) / spread) - np.log(spread) - 0.5 * math.log(2 * math.pi)
    return log_score(density, observed)


def _mean_distance(drawn: Floats) -> Floats:
    """Return the mean distance between two draws of each window, ``(windows, steps, draws)``, equal ones included."""
    # Around their mean, the squares that cancel in a distance are no larger than the distances themselves.
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
    """Return by how many pairs of draws to divide; NaN where there is none."""
    pairs = count * (count - 1) if fair else count**2
    return pairs or math.nan


def _share(share: float) -> float:
    if not 0 < share < 1:
        raise InputError(f"share: {share!r} must lie between 0 and 1, such as 0.9 for the ninetieth percentile.")
    return share


def _shares(quantiles: Mapping[float, AnyFloats]) -> list[float]:
    if not quantiles:
        raise InputError("quantiles: there are none; pass at least one array by its share, such as {0.9: upper}.")
    return list(quantiles)
