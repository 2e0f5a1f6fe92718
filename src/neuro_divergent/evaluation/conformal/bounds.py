"""Uncalibrated bounds of intervals: the point forecast, or two of the forecaster's own quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    from neuro_divergent.losses.base import Loss

Pair = tuple[float, float]
POINT: tuple[Pair, ...] = ((0.5, 0.5),)
_USUAL = (50.0, 80.0, 90.0, 95.0, 99.0)  # levels that are taken from a distribution


class Bounds(NamedTuple):
    """Lower and upper bounds, ``(pairs, windows, horizon)`` each."""

    lower: Floats
    upper: Floats


def pairs_of(loss: Loss) -> tuple[Pair, ...]:
    """Return the pairs of quantiles, symmetric around the median, that a loss forecasts."""
    if loss.traits.any_level:
        return tuple((round(0.5 - level / 200, 9), round(0.5 + level / 200, 9)) for level in _USUAL)
    own = loss.quantile_levels
    pairs = tuple((low, high) for low in own for high in own if low < 0.5 and abs(low + high - 1) < 1e-9)
    if not pairs:
        has = f"has the quantiles {', '.join(f'{level:g}' for level in own)}" if own else "forecasts a point"
        raise InputError(
            "conformalised quantiles need a lower and an upper quantile, symmetric around the median: the loss "
            f"{loss.name!r} {has}. Train with QuantileLoss([0.1, 0.5, 0.9]) or a distribution, or use method='split'."
        )
    return pairs


def nearest_pair(pairs: Sequence[Pair], level: float) -> int:
    """Return the index of the pair whose level, in percent, is nearest; any pair can be calibrated to any level."""
    return min(range(len(pairs)), key=lambda place: abs(100 * (pairs[place][1] - pairs[place][0]) - level))


def quantiles_of(pairs: Sequence[Pair]) -> tuple[float, ...]:
    """Return the quantiles that the forecaster must predict; none where intervals are built around the point."""
    return () if pairs == POINT else tuple(sorted({quantile for pair in pairs for quantile in pair}))


def bounds_from(point: Array, quantiles: Mapping[float, Array], pairs: Sequence[Pair]) -> Bounds:
    """Return the bounds of every pair."""
    if pairs == POINT:
        both = point.astype(np.float64)[None]
        return Bounds(both, both)
    lower, upper = (np.stack([quantiles[pair[side]] for pair in pairs]).astype(np.float64) for side in (0, 1))
    return Bounds(lower, upper)


def widen(
    base: Bounds, pairs: Sequence[Pair], levels: Sequence[float], spread: Floats, widths: Floats, *, whole: bool
) -> dict[float, tuple[Floats, Floats]]:
    """Return both calibrated bounds of the interval of every level, which contains all narrower ones.

    Levels are ascending, widths ``(windows, levels, sides, horizon)`` in units of the spread of each window.
    """
    result: dict[float, tuple[Floats, Floats]] = {}
    inner: tuple[Floats, Floats] | None = None
    for place, level in enumerate(levels):
        pair = nearest_pair(pairs, level)
        lower = base.lower[pair] - spread[:, None] * widths[:, place, 0]
        upper = base.upper[pair] + spread[:, None] * widths[:, place, -1]
        # Quantiles that are too far apart are moved inwards and may cross.
        middle = (lower + upper) / 2
        lower, upper = np.minimum(lower, middle), np.maximum(upper, middle)
        if inner is not None:
            lower, upper = np.minimum(lower, inner[0]), np.maximum(upper, inner[1])
        inner = lower, upper
        result[level] = _to_integers(lower, upper) if whole else inner
    return result


def _to_integers(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return the outermost integers of an interval; if it holds none, the one nearest to its middle."""
    inside = np.ceil(lower - 1e-6), np.floor(upper + 1e-6)
    middle = np.round((lower + upper) / 2)
    empty = inside[0] > inside[1]
    return np.where(empty, middle, inside[0]), np.where(empty, middle, inside[1])
