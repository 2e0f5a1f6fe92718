"""Scores as sums over blocks of windows, in double precision: what is scored need not be in memory at once.

The scores of one block are those of ``metrics``, bit for bit. Those of several differ in rounding only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats, Ints
from neuro_divergent.evaluation import metrics
from neuro_divergent.evaluation.continued_bincount import continued_bincount
from neuro_divergent.evaluation.pointwise import error, is_covered, symmetric_percentage


class Mean:
    """Mean of values that come in blocks; NaN without any."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, values: Floats) -> None:
        """Add the values of a block."""
        self.total += float(values.sum())
        self.count += values.size

    @property
    def value(self) -> float:
        """The mean so far."""
        return self.total / self.count if self.count else math.nan


class PointSums:
    """Scores of the point forecasts of one model."""

    def __init__(self) -> None:
        self._absolute, self._squared, self._signed = Mean(), Mean(), Mean()
        self._percentage, self._symmetric, self._size, self._scaled = Mean(), Mean(), Mean(), Mean()

    def add(self, actual: AnyFloats, forecast: AnyFloats, observed: Bools, scale: AnyFloats) -> None:
        """Add the values of some windows, ``(windows, horizon)``; ``scale`` is that of MASE, ``(windows,)``."""
        errors = error(actual, forecast)
        distance, size = np.abs(errors), np.abs(np.asarray(actual, np.float64))
        self._signed.add(errors[observed])
        self._absolute.add(distance[observed])
        self._squared.add(np.square(errors)[observed])
        self._size.add(size[observed])
        self._symmetric.add(symmetric_percentage(actual, forecast)[observed])
        with np.errstate(divide="ignore", invalid="ignore"):
            self._percentage.add((distance / size)[observed & (size > 0)])
            scaled = np.abs(errors / np.asarray(scale, np.float64)[:, None])
        self._scaled.add(scaled[observed & (np.isfinite(scale) & (scale > 0))[:, None]])

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return self._absolute.value

    def scores(self, reference: float) -> dict[str, float]:
        """Return the scores by their names; ``reference`` is the MAE that the skill is relative to."""
        mse, size = self._squared.value, self._size.value
        return {
            "mae": self.mae,
            "mse": mse,
            "rmse": float(np.sqrt(mse)),
            "mape": 100 * self._percentage.value,
            "smape": self._symmetric.value,
            "wape": 100 * (self.mae / size if size > 0 else math.nan),
            "mase": self._scaled.value,
            "bias": self._signed.value,
            "skill": metrics.skill(self.mae, reference),
        }


class SeriesSums:
    """Scores of a model for each series.

    Args:
        count: Number of series.
    """

    def __init__(self, count: int) -> None:
        self._seen, self._absolute, self._squared, self._signed, self._naive = np.zeros((5, count))

    def add(self, series: Ints, actual: AnyFloats, point: AnyFloats, reference: AnyFloats, observed: Bools) -> None:
        """Add the values of some windows, ``(windows, horizon)``; ``series`` is that of each, ``(windows,)``."""
        if not len(series):
            return
        first, last = int(series.min()), int(series.max()) + 1
        errors = point.astype(np.float64) - actual

        def add(totals: Floats, values: Floats) -> None:
            totals[first:last] = continued_bincount(totals[first:last], series - first, values)

        add(self._seen, observed.sum(1).astype(np.float64))
        terms = {
            "_absolute": np.abs(errors),
            "_squared": np.square(errors),
            "_signed": errors,
            "_naive": np.abs(reference - actual),
        }
        for name, values in terms.items():
            add(getattr(self, name), np.where(observed, values, 0).sum(1))

    def columns(self, scale: Floats) -> dict[str, Any]:
        """Return the scores of each series by their names; NaN where nothing was observed."""
        seen = self._seen

        def mean(totals: Floats) -> Floats:
            return np.where(seen > 0, totals / np.maximum(seen, 1), np.nan)

        absolute, naive = mean(self._absolute), mean(self._naive)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "values": seen.astype(np.int64),
                "mae": absolute,
                "rmse": np.sqrt(mean(self._squared)),
                "mase": np.where(scale > 0, absolute / scale, np.nan),
                "bias": mean(self._signed),
                "skill": np.where(naive > 0, 1 - absolute / naive, np.nan),
            }


class IntervalSums:
    """Coverage and width of the intervals of one model, by their level."""

    def __init__(self) -> None:
        self._covered: dict[float, Mean] = {}
        self._width: dict[float, Mean] = {}

    def add(
        self, actual: AnyFloats, lower: dict[float, AnyFloats], upper: dict[float, AnyFloats], observed: Bools
    ) -> None:
        """Add the values of some windows, ``(windows, horizon)``."""
        for level, low in lower.items():
            high = upper[level]
            self._covered.setdefault(level, Mean()).add(is_covered(actual, low, high)[observed])
            self._width.setdefault(level, Mean()).add(error(low, high)[observed])

    def rows(self) -> list[dict[str, float]]:
        """Return the ``level`` of each interval, its ``coverage`` in percent and its mean ``width``."""
        return [
            {"level": float(level), "coverage": 100 * covered.value, "width": self._width[level].value}
            for level, covered in self._covered.items()
        ]
