"""The two-sample test of Kolmogorov and Smirnov for many series at once."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import AnyInts, Floats

_PART = 2**22  # values that are sorted together


def ks_statistics(first: Floats, second: Floats) -> Floats:
    """Return the largest distance between the distribution functions of two samples, for each row.

    Args:
        first: ``(series, values)``; NaN does not count.
        second: The same for the other sample; the number of values may differ.

    Returns:
        One number per series, as ``scipy.stats.ks_2samp`` gives it; NaN where a sample is empty.
    """
    rows = max(1, _PART // max(first.shape[1] + second.shape[1], 1))
    parts = [_statistics(first[at : at + rows], second[at : at + rows]) for at in range(0, len(first), rows)]
    return np.concatenate(parts) if parts else np.empty(0)


def _statistics(first: Floats, second: Floats) -> Floats:
    values = np.concatenate([first, second], axis=1)
    order = np.argsort(values, axis=1)  # NaN comes last
    values = np.take_along_axis(values, order, axis=1)
    sizes = np.isfinite(first).sum(1), np.isfinite(second).sum(1)
    is_first = order < first.shape[1]
    known = np.isfinite(values)
    below_first = np.cumsum(is_first & known, axis=1) / np.maximum(sizes[0], 1)[:, None]
    below_second = np.cumsum(~is_first & known, axis=1) / np.maximum(sizes[1], 1)[:, None]
    distance = np.abs(below_first - below_second)
    distance[:, :-1][values[:, :-1] == values[:, 1:]] = 0  # among equal values only the last one counts
    found: Floats = distance.max(axis=1, initial=0.0)
    return np.where((sizes[0] > 0) & (sizes[1] > 0), found, np.nan)


def ks_p_values(statistics: Floats, first: AnyInts | Floats, second: AnyInts | Floats) -> Floats:
    """Return p values by the limit distribution with the correction of Stephens (1970) for small samples.

    Args:
        statistics: The distances.
        first: Size of each first sample; smaller than the number of values where these depend on each other.
        second: The same for the second sample.
    """
    from scipy.special import kolmogorov

    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(first * second / (first + second))
        scaled = (root + 0.12 + 0.11 / root) * statistics
    return np.where(np.isfinite(scaled), kolmogorov(scaled), np.nan)
