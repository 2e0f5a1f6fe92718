"""Long seasons, which models of exponential smoothing and ARIMA do not have: taken out first, put back afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.arrays import Floats

if TYPE_CHECKING:
    from neuro_divergent.forecasting.statistical.library import SeriesModel

_SMOOTHED = 11  # cycles over which each phase of the season is smoothed; what MSTL has for its first season


@dataclass(frozen=True, eq=False)
class SeasonallyAdjusted:
    """A model of what STL leaves of a series without its season; forecasts repeat the last cycle of the season.

    It is MSTL (Bandara, Hyndman and Bergmeir, 2021) with one season. Intervals do not include the error of the season.
    That of statsforecast hands models an array that they cannot write to where pandas 3 is installed.

    Attributes:
        model: A model without a season.
        season_length: Rows in a season.
    """

    model: SeriesModel
    season_length: int

    def forecast(self, y: Floats, h: int, level: list[float] | None = None) -> dict[str, Floats]:
        """Fit a series and forecast, as ``SeriesModel`` says."""
        from statsmodels.tsa.seasonal import STL  # a dependency of statsforecast

        season = STL(y, period=self.season_length, seasonal=_SMOOTHED, seasonal_deg=0).fit().seasonal
        made = self.model.forecast(y=y - season, h=h, level=level)
        ahead = season[len(y) - self.season_length + np.arange(h) % self.season_length]
        return {name: values + ahead for name, values in made.items()}
