"""The series whose errors have changed, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.formatting import format_number, format_p_value, format_time
from neuro_divergent.lifecycle.drift.cusum import cusum_tests
from neuro_divergent.lifecycle.drift.false_discovery import adjust_p_values
from neuro_divergent.lifecycle.drift.kolmogorov_smirnov import ks_p_values, ks_statistics
from neuro_divergent.lifecycle.drift.plain_time import plain_time
from neuro_divergent.lifecycle.drift.standardization import Standardized, mean_of

_MOST_LAGS = 50
_ENOUGH_SERIES = 400  # from which the autocorrelation of all is estimated
# Longer blocks keep clusters of volatility together; shorter ones make paths that differ more.
_FEW_BLOCKS, _MANY_BLOCKS = 10, 25
_INDEPENDENT = 1.2  # correlation time
_TESTS = ("distribution", "level", "size")


@dataclass(frozen=True)
class NamedSeries:
    """A series that stands out.

    Attributes:
        id: Its name.
        reasons: Which tests stand out: ``distribution`` (Kolmogorov-Smirnov), ``level`` and ``size`` (cumulative sums).
        level: Change of the mean error, in its standard deviations in the reference.
        size: Mean absolute error, in multiples of that in the reference.
        p_value: After adjustment for the number of series.
        since: Time at which the cumulative sum began to grow; ``None`` if only the distribution stands out.
    """

    id: Any
    reasons: tuple[str, ...]
    level: float
    size: float
    p_value: float
    since: Any

    @property
    def sentence(self) -> str:
        """What has changed, in words."""
        side = "above" if self.level > 0 else "below"
        since = "" if self.since is None else f" since {format_time(self.since)}"
        return (
            f"{self.id}: errors {format_number(self.size)} times as large, actual values "
            f"{format_number(abs(self.level))} standard deviations {side} what is usual{since} "
            f"(p {format_p_value(self.p_value)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "id": self.id if isinstance(self.id, int) else str(self.id),
            "reasons": list(self.reasons),
            "level": self.level,
            "size": self.size,
            "p_value": self.p_value,
            "since": plain_time(self.since),
        }


def name_series(
    errors: Standardized, times: pl.Series, *, false_discoveries: float, horizon: int, seed: int = 0
) -> tuple[NamedSeries, ...]:
    """Return the series whose errors have changed, the most significant first.

    Each series has the smallest p value of three tests, times three; these are adjusted for the number of series. Sizes
    of samples are divided by the correlation time that the errors have in the reference.

    Args:
        errors: Standardized errors.
        times: Of the new errors.
        false_discoveries: Expected fraction of the named series that have not changed.
        horizon: Steps of a forecast.
        seed: Of the bootstrap.
    """
    reference, new = errors.reference, errors.new
    dependence = max(correlation_time(reference), correlation_time(np.abs(reference)))
    sizes = [np.maximum(np.isfinite(values).sum(1) / dependence, 1.0) for values in (reference, new)]
    distances = ks_p_values(ks_statistics(reference, new), *sizes)
    is_dependent = dependence > _INDEPENDENT
    block = reference.shape[1] // _FEW_BLOCKS if is_dependent else min(horizon, reference.shape[1] // _MANY_BLOCKS)
    level, size = cusum_tests(reference, new, block=max(block, 1), seed=seed)
    p_values = np.vstack([distances, level.p_values, size.p_values])
    smallest = np.minimum(len(_TESTS) * np.nanmin(p_values, axis=0), 1.0) if len(new) else np.empty(0)
    adjusted = adjust_p_values(smallest)
    found = np.flatnonzero(adjusted <= false_discoveries)
    found = found[np.lexsort((smallest[found], adjusted[found]))]
    means, spreads = mean_of(new[found], 1), mean_of(np.abs(new[found]), 1)
    usual = mean_of(np.abs(reference[found]), 1)
    # A test stands out if it alone would have made the series a discovery.
    limit = float(smallest[found].max(initial=0.0)) / len(_TESTS)
    named = []
    for place, row in enumerate(found.tolist()):
        reasons = tuple(name for name, p in zip(_TESTS, p_values[:, row], strict=True) if p <= limit)
        begin = level.begins[row] if level.p_values[row] <= size.p_values[row] else size.begins[row]
        has_sum = min(level.p_values[row], size.p_values[row]) <= limit
        named.append(
            NamedSeries(
                id=errors.ids[row],
                reasons=reasons,
                level=float(means[place]),
                size=float(spreads[place] / usual[place]),
                p_value=float(adjusted[row]),
                since=times[int(begin)] if has_sum else None,
            )
        )
    return tuple(named)


def correlation_time(values: Floats) -> float:
    """Return how many successive values count as much as one independent one, at least 1.

    It is one plus twice the sum of the mean autocorrelations of the series up to the first that is within its noise.
    """
    places = np.linspace(0, len(values) - 1, min(len(values), _ENOUGH_SERIES)).astype(np.int64)
    part = np.nan_to_num(values[places], nan=0.0)
    part = part - part.mean(1, keepdims=True)
    power = float(np.square(part).sum())
    length = part.shape[1]
    if power <= 0 or length < 3:
        return 1.0
    total = 1.0
    for lag in range(1, min(_MOST_LAGS, length // 4) + 1):
        correlation = float((part[:, lag:] * part[:, :-lag]).sum()) / power
        if correlation < 1.5 / math.sqrt(length):
            break
        total += 2 * correlation
    return total
