"""Which intervals and quantiles were asked for."""

from __future__ import annotations

from collections.abc import Sequence

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.forecasting.uncertainty.intervals import check_levels, check_quantiles


class RequestedLevels:
    """What intervals were asked for.

    Attributes:
        levels: Central intervals, in percent.
        quantiles: Quantiles, as shares.
        all: Every level that is needed for both, ascending.
    """

    def __init__(self, levels: Sequence[float], quantiles: Sequence[float]) -> None:
        self.levels, self.quantiles = tuple(levels), tuple(quantiles)
        check_levels(self.levels)
        check_quantiles(self.quantiles)
        implied = {_level_of(share) for share in self.quantiles}
        self.all: tuple[float, ...] = tuple(sorted({*self.levels, *implied} - {0.0}))

    def quantile(self, share: float, point: Array, bounds: dict[float, tuple[Floats, Floats]]) -> Array:
        """Return one quantile."""
        level = _level_of(share)
        return point if level == 0 else bounds[level][int(share > 0.5)]


def _level_of(share: float) -> float:
    return round(abs(200 * share - 100), 9)
