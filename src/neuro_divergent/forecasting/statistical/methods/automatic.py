"""Models whose form is chosen for each series: exponential smoothing, theta, complex smoothing, ARIMA."""

from __future__ import annotations

from typing import Any, ClassVar

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.config import register
from neuro_divergent.forecasting.statistical.library import SeriesModel
from neuro_divergent.forecasting.statistical.methods.library import LibraryMethod
from neuro_divergent.forecasting.statistical.seasonal_adjustment import SeasonallyAdjusted


class _AutomaticMethod(LibraryMethod):
    """A model that has a season up to a length, above which the season is taken out first.

    Attributes:
        longest_season: Longest season that the model itself has; above, STL takes a season out that repeats its last
            cycle, and the model without a season forecasts the rest.
    """

    least: ClassVar[int] = 5
    longest_season: ClassVar[int] = 24

    def build(self, models: Any, season_length: int) -> SeriesModel:
        if season_length <= self.longest_season:
            return self._model(models, season_length)
        return SeasonallyAdjusted(self._model(models, 1), season_length)

    def refusal(self, history: Floats, season_length: int) -> str | None:
        reason = super().refusal(history, season_length)
        if reason is not None:
            return reason
        if (history == history[0]).all():
            return "constant"
        if season_length > self.longest_season and len(history) < 2 * season_length:
            return f"{len(history)} rows; a season of {season_length} needs {2 * season_length}"
        return None

    def _model(self, models: Any, season_length: int) -> SeriesModel:
        raise NotImplementedError


@register("auto_ets")
class AutoETS(_AutomaticMethod):
    """Exponential smoothing; error, trend and season are chosen by AICc for each series."""

    paper: ClassVar[str] = "https://doi.org/10.1016/S0169-2070(01)00110-8"
    least: ClassVar[int] = 7

    def _model(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.AutoETS(season_length=season_length, model="ZZZ" if season_length > 1 else "ZZN")
        return made


@register("auto_theta")
class AutoTheta(_AutomaticMethod):
    """Theta method: the best of standard, optimised and dynamic theta models for each series."""

    paper: ClassVar[str] = "https://doi.org/10.1016/j.ijforecast.2016.02.005"

    def _model(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.AutoTheta(season_length=season_length)
        return made


@register("auto_ces")
class AutoCES(_AutomaticMethod):
    """Complex exponential smoothing; the kind of season is chosen by AICc for each series."""

    paper: ClassVar[str] = "https://doi.org/10.1002/nav.22074"

    def _model(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.AutoCES(season_length=season_length, model="Z" if season_length > 1 else "N")
        return made


@register("auto_arima")
class AutoARIMA(_AutomaticMethod):
    """Seasonal ARIMA; orders are chosen by AICc for each series.

    Attributes:
        approximation: Whether orders are compared by conditional sums of squares, which takes a third of the time; the
            chosen ones are fitted by maximum likelihood all the same.
    """

    paper: ClassVar[str] = "https://doi.org/10.18637/jss.v027.i03"
    longest_season: ClassVar[int] = 12  # 700 rows with a season of 24 take 35 seconds
    approximation: bool = False

    def _model(self, models: Any, season_length: int) -> SeriesModel:
        made: SeriesModel = models.AutoARIMA(season_length=season_length, approximation=self.approximation)
        return made
