"""Naive forecasts to compare a trained forecaster with."""

from __future__ import annotations

from neuro_divergent.core.arrays import AnyFloats
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts

NAMES = ("last value", "seasonal naive", "drift")


class Baselines(NaiveForecasts):
    """The three baselines for the windows of a panel."""

    def all(self) -> dict[str, AnyFloats]:
        """Return each baseline by its name, ``(windows, horizon)``."""
        return dict(zip(NAMES, (self.last_value(), self.seasonal_naive(), self.drift()), strict=True))
