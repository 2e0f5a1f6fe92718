"""Tests whether a statistic of the whole panel has changed, honest about autocorrelation and short references.

Series of a panel are not independent, so the panel is first averaged to one number per time. The mean of the new
numbers is compared with that of the reference. Its standard error needs the variance of a mean of dependent values
(the spectral density at frequency zero), for which several estimates are made from the reference alone:

- the mean of the squared coefficients of the first 8, 12 and 24 cosines (Lazarus, Lewis, Stock & Watson, 2018), after
  which the statistic has a t distribution with as many degrees of freedom;
- where the new part is short, the variance of the means of blocks of its length, with as many degrees of freedom as
  there are blocks, less one.

The largest p value counts. That costs power, but the choice of a bandwidth cannot make an alarm. The hypothesis that is
tested is that the change is not larger than ``TOLERANCE``: in a panel of thousands of series any two months differ
significantly, by amounts that no new training would change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.lifecycle.drift.standardization import mean_of

LEAST_TIMES = 30
"""Times of a reference, below which nothing is judged."""

TOLERANCE = 0.05
"""Change that is no drift: standard deviations of an error (``level``), or about 5 % of their size (``size``)."""

_COSINES = (8, 12, 24)
_LEAST_BLOCKS = 5
_FLOOR = 0.05  # of a mean absolute error, in its usual size, before its logarithm is taken
_LEAST_SERIES = 0.25  # of the usual number of series, below which a time does not count

Name = Literal["level", "size"]


@dataclass(frozen=True, eq=False)
class PanelTest:
    """One statistic of the panel over time, and its test.

    Attributes:
        name: ``level`` for the mean standardized error, ``size`` for the logarithm of the mean absolute one.
        reference: The statistic at each time of the reference; NaN where too few series have an error.
        new: The same for the new times.
        change: Mean of the new part minus that of the reference.
        standard_error: Of that change, by the estimate that gave the largest p value.
        degrees: Degrees of freedom of that estimate.
        p_value: Of the hypothesis that the change is at most ``TOLERANCE``: either way for ``level``, upwards for
            ``size``.
        change_at: Place among the new times from which on the change is most visible.
    """

    name: Name
    reference: Floats
    new: Floats
    change: float
    standard_error: float
    degrees: int
    p_value: float
    change_at: int

    @property
    def effect(self) -> float:
        """The change in standard deviations of an error (``level``), or as a factor of their size (``size``)."""
        return self.change if self.name == "level" else math.exp(self.change)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the test as plain values."""
        names = ("name", "effect", "change", "standard_error", "degrees", "p_value")
        return {name: getattr(self, name) for name in names}


def level_of(errors: Floats) -> Floats:
    """Return the mean standardized error of each time."""
    return mean_of(errors, 0)


def size_of(errors: Floats) -> Floats:
    """Return the logarithm of the mean absolute standardized error of each time."""
    return np.log(np.maximum(mean_of(np.abs(errors), 0), _FLOOR))


def run_panel_test(reference: Floats, new: Floats, name: Name) -> PanelTest | None:
    """Test whether a statistic of standardized errors, ``(series, times)``, is another one in the new part.

    Returns:
        The test, or ``None`` if there are too few times with enough series.
    """
    statistic = level_of if name == "level" else size_of
    counts, new_counts = np.isfinite(reference).sum(0), np.isfinite(new).sum(0)
    least = max(1.0, _LEAST_SERIES * float(np.median(counts[counts > 0]))) if counts.any() else 1.0
    old = np.where(counts >= least, statistic(reference), np.nan)
    fresh = np.where(new_counts >= least, statistic(new), np.nan)
    known, known_new = np.isfinite(old), np.isfinite(fresh)
    if known.sum() < LEAST_TIMES or not known_new.any():
        return None
    # Fewer series make a mean that varies more.
    thinner = max(1.0, float(np.mean(1 / new_counts[known_new]) / np.mean(1 / counts[known])))
    r, n = old[known], fresh[known_new]
    change = float(n.mean() - r.mean())
    error, degrees, p_value = _least_significant(r, len(n), change, thinner, two_sided=name == "level")
    return PanelTest(name, old, fresh, change, error, degrees, p_value, _change_point(fresh, float(r.mean())))


def _least_significant(
    reference: Floats, count: int, change: float, thinner: float, *, two_sided: bool
) -> tuple[float, int, float]:
    """Return standard error, degrees of freedom and p value of the estimate with the largest p value."""
    from scipy.special import stdtr

    found = []
    for variance, degrees in _variances(reference, count):
        error = math.sqrt(variance * (thinner / count + 1 / len(reference)))
        beyond = (abs(change) if two_sided else change) - TOLERANCE
        ratio = beyond / error if error > 0 else math.copysign(math.inf, beyond)
        p_value = (2 if two_sided else 1) * stdtr(degrees, -ratio)
        found.append((error, degrees, float(min(p_value, 1.0))))
    return max(found, key=lambda one: one[2])


def _variances(values: Floats, count: int) -> Iterator[tuple[float, int]]:
    """Yield estimates of the variance of a mean of ``count`` values, times ``count``, and degrees of freedom."""
    centred, length = values - values.mean(), len(values)
    most = min(max(_COSINES, default=0), length - 1)
    angles = math.pi / length * (np.arange(length) + 0.5)
    power = 2 / length * np.square(np.cos(np.arange(1, most + 1)[:, None] * angles) @ centred)
    for terms in _COSINES:
        if terms <= most:
            yield float(power[:terms].mean()), terms
    blocks = length // count
    if blocks >= _LEAST_BLOCKS:
        sums = np.cumsum(np.concatenate([[0.0], centred]))
        means = (sums[count:] - sums[:-count]) / count
        yield float(count * np.square(means).mean() * blocks / (blocks - 1)), blocks - 1


def _change_point(new: Floats, level: float) -> int:
    """Return the place from which on values differ most from those before, which begin at the level of the reference.

    It maximizes the squared mean difference to the level over the rest, weighted by its length.
    """
    apart = np.where(np.isfinite(new), new - level, 0.0)
    counts = np.cumsum(np.isfinite(new)[::-1])[::-1]
    rest = np.cumsum(apart[::-1])[::-1]
    return int(np.argmax(np.square(rest) / np.maximum(counts, 1)))
