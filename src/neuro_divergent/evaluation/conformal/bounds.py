"""What an interval is built around: the point forecast, or two quantiles of the forecaster's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    from neuro_divergent.losses.base import Loss

Floats = npt.NDArray[np.float64]
Pair = tuple[float, float]
POINT: tuple[Pair, ...] = ((0.5, 0.5),)
_USUAL = (50.0, 80.0, 90.0, 95.0, 99.0)  # levels for which a distribution is asked


class Bounds(NamedTuple):
    """Lower and upper ends, ``(pairs, windows, horizon)`` each."""

    lower: Floats
    upper: Floats


def pairs_of(loss: Loss) -> tuple[Pair, ...]:
    """Return the pairs of quantiles, as far below as above the middle, that a loss forecasts by itself.

    Raises:
        InputError: If it forecasts none.
    """
    if loss.traits.any_level:
        return tuple((round(0.5 - level / 200, 9), round(0.5 + level / 200, 9)) for level in _USUAL)
    own = loss.quantile_levels
    pairs = tuple((low, high) for low in own for high in own if low < 0.5 and abs(low + high - 1) < 1e-9)
    if not pairs:
        has = f"has the quantiles {', '.join(f'{level:g}' for level in own)}" if own else "forecasts a point"
        raise InputError(
            "conformalised quantiles need a lower and an upper quantile as far from the middle: the loss "
            f"{loss.name!r} {has}. Train with QuantileLoss([0.1, 0.5, 0.9]) or a distribution, or use method='split'."
        )
    return pairs


def nearest_pair(pairs: Sequence[Pair], level: float) -> int:
    """Return the place of the pair whose level, in percent, is nearest; any pair can be calibrated to any level."""
    return min(range(len(pairs)), key=lambda place: abs(100 * (pairs[place][1] - pairs[place][0]) - level))


def shares_of(pairs: Sequence[Pair]) -> tuple[float, ...]:
    """Return the quantiles to ask a forecaster for; none where intervals are built around the point."""
    return () if pairs == POINT else tuple(sorted({share for pair in pairs for share in pair}))


def ends_from(point: npt.NDArray[Any], quantiles: Mapping[float, npt.NDArray[Any]], pairs: Sequence[Pair]) -> Bounds:
    """Lay the ends of every pair out in one array."""
    if pairs == POINT:
        both = point.astype(np.float64)[None]
        return Bounds(both, both)
    lower, upper = (np.stack([quantiles[pair[side]] for pair in pairs]).astype(np.float64) for side in (0, 1))
    return Bounds(lower, upper)
