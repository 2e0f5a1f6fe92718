"""Requested intervals and quantiles."""

from __future__ import annotations

from collections.abc import Sequence

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles


class RequestedLevels:
    """Levels and quantiles that a caller requested.

    Attributes:
        levels: Levels of central intervals, in percent.
        quantiles: Quantiles, between 0 and 1.
        all: Every level that is needed for both, ascending.
    """

    def __init__(self, levels: Sequence[float], quantiles: Sequence[float]) -> None:
        requested = RequestedQuantiles(levels, quantiles)
        self.levels, self.quantiles = requested.levels, requested.quantiles
        implied = {_level_of(quantile) for quantile in self.quantiles}
        self.all: tuple[float, ...] = tuple(sorted({*self.levels, *implied} - {0.0}))

    def quantile(self, quantile: float, point: Array, bounds: dict[float, tuple[Floats, Floats]]) -> Array:
        """Return the forecast of one quantile: the point forecast, or a bound of an interval."""
        level = _level_of(quantile)
        return point if level == 0 else bounds[level][int(quantile > 0.5)]


def _level_of(quantile: float) -> float:
    return round(abs(200 * quantile - 100), 9)
