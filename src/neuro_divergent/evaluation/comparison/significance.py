"""Significance tests of differences between forecasts.

``diebold_mariano`` compares two forecasts over many cut-offs, ``friedman`` and ``nemenyi`` compare several over many
series, and ``holm`` adjusts p values for multiple comparisons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError


@dataclass(frozen=True)
class DieboldMariano:
    """The test of Diebold & Mariano (1995), as Harvey, Leybourne & Newbold (1997) correct it for small samples.

    Attributes:
        mean: Mean of the differences: below 0 where the first forecast is better.
        statistic: That mean divided by its standard error; NaN if it is undefined.
        p_value: Two-sided p value of the hypothesis that both are equally good; NaN likewise.
        cutoffs: Number of differences.
        lags: Number of autocovariances in the variance of the mean.
    """

    mean: float
    statistic: float
    p_value: float
    cutoffs: int
    lags: int


@dataclass(frozen=True, eq=False)
class Friedman:
    """Friedman's test that several forecasts are equally good, from their ranks on many series.

    Attributes:
        ranks: Mean rank of each forecast; 1 is best.
        chi_square: Friedman's statistic.
        chi_square_p: Its p value, which is conservative for few series.
        f: The statistic of Iman & Davenport (1980), computed from it.
        f_p: Its p value, the more accurate one.
    """

    ranks: Floats
    series: int
    chi_square: float
    chi_square_p: float
    f: float
    f_p: float


def diebold_mariano(differences: npt.ArrayLike, overlap: int = 1) -> DieboldMariano:
    """Test whether losses differ in the mean, two-sided.

    The variance of the mean includes the autocovariances up to the overlap of the horizons. If their plain sum is not
    positive, Bartlett weights are used, with which it cannot be negative.

    Args:
        differences: Loss of one forecast minus that of the other at each cut-off, in order of time; NaN is left out.
        overlap: Number of successive cut-offs whose horizons overlap: the horizon if there is a cut-off in every row,
            and 1 if they are a horizon apart.

    Returns:
        The test; its statistic is NaN with fewer than ``2 * overlap`` cut-offs.
    """
    if overlap < 1:
        raise InputError(f"overlap: {overlap!r} must be at least 1.")
    values = np.asarray(differences, np.float64)
    values = values[np.isfinite(values)]
    count, lags = len(values), overlap - 1
    mean = float(values.mean()) if count else math.nan
    if count < 2 * overlap:
        return DieboldMariano(mean, math.nan, math.nan, count, lags)
    if not values.any():
        return DieboldMariano(0.0, 0.0, 1.0, count, lags)
    error = math.sqrt(_long_run_variance(values - mean, lags) / count)
    correction = math.sqrt((count + 1 - 2 * overlap + overlap * lags / count) / count)
    statistic = correction * mean / error if error > 0 else math.copysign(math.inf, mean)

    from scipy import stats

    return DieboldMariano(mean, statistic, float(2 * stats.t.sf(abs(statistic), count - 1)), count, lags)


def friedman(scores: npt.ArrayLike, *, correct_ties: bool = True) -> Friedman:
    """Test whether forecasts are equally good, from their scores on many series.

    Args:
        scores: ``(series, forecasts)``, lower is better; a series with a NaN is left out.
        correct_ties: Whether to correct for ties, as SciPy does.

    Returns:
        The test; its statistics are NaN with fewer than two series or forecasts.
    """
    from scipy import stats

    values = np.asarray(scores, np.float64)
    if values.ndim != 2:
        raise InputError(f"scores: shape {values.shape} must be (series, forecasts).")
    values = values[np.isfinite(values).all(1)]
    series, count = values.shape
    if series < 2 or count < 2:
        return Friedman(np.full(count, np.nan), series, math.nan, math.nan, math.nan, math.nan)
    ranks = stats.rankdata(values, axis=1)
    mean = ranks.mean(0)
    chi_square = 12 * series / (count * (count + 1)) * float(np.sum((mean - (count + 1) / 2) ** 2))
    if correct_ties:
        tied = sum(int(((times := np.unique(row, return_counts=True)[1]) ** 3 - times).sum()) for row in ranks)
        free = 1 - tied / (series * count * (count**2 - 1))
        chi_square = chi_square / free if free > 0 else 0.0
    left = series * (count - 1) - chi_square
    # Zero, up to rounding, if all series rank the forecasts in the same order.
    f = (series - 1) * chi_square / left if left > 1e-9 * series * count else math.inf
    return Friedman(
        ranks=mean,
        series=series,
        chi_square=chi_square,
        chi_square_p=float(stats.chi2.sf(chi_square, count - 1)),
        f=f,
        f_p=float(stats.f.sf(f, count - 1, (count - 1) * (series - 1))),
    )


def critical_difference(forecasts: int, series: int, alpha: float = 0.05) -> float:
    """Return the difference of two mean ranks that is significant by Nemenyi's test."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha: {alpha!r} must be between 0 and 1.")
    if forecasts < 2 or series < 1:
        return math.nan
    from scipy import stats

    range_ = float(stats.studentized_range.ppf(1 - alpha, forecasts, np.inf))
    return range_ / math.sqrt(2) * _rank_error(forecasts, series)


def nemenyi(ranks: npt.ArrayLike, series: int) -> Floats:
    """Return the p value of each pair of mean ranks, ``(forecasts, forecasts)``, adjusted for the number of pairs."""
    from scipy import stats

    mean = np.asarray(ranks, np.float64)
    if len(mean) < 2 or series < 1:
        return np.full((len(mean), len(mean)), np.nan)
    apart = np.abs(mean[:, None] - mean[None, :]) / _rank_error(len(mean), series)
    return np.asarray(stats.studentized_range.sf(apart * math.sqrt(2), len(mean), np.inf), np.float64)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjust p values for multiple comparisons (Holm, 1979); NaN stays NaN and is not counted."""
    values = np.asarray(p_values, np.float64)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full_like(values, np.nan)
    steps = values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _long_run_variance(centred: Floats, lags: int) -> float:
    """Return the variance of the mean times the number of values."""
    count = len(centred)
    autocovariances = [float(centred[lag:] @ centred[: count - lag]) / count for lag in range(lags + 1)]
    plain = autocovariances[0] + 2 * sum(autocovariances[1:])
    if plain > 0:
        return plain
    return autocovariances[0] + 2 * sum((1 - lag / (lags + 1)) * autocovariances[lag] for lag in range(1, lags + 1))


def _rank_error(forecasts: int, series: int) -> float:
    """Return the standard error of the difference of two mean ranks."""
    return math.sqrt(forecasts * (forecasts + 1) / (6 * series))
