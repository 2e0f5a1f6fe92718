"""What models of statsforecast share: histories without gaps, and a fall-back for series that cannot be fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from neuro_divergent.core.arrays import AnyFloats, Floats
from neuro_divergent.forecasting.statistical.library import (
    SeriesModel,
    SeriesTask,
    forecast_histories,
    load_models,
)
from neuro_divergent.forecasting.statistical.methods.base import (
    Fallback,
    MethodForecast,
    StatisticalMethod,
    normal_quantiles,
)
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts

_ROWS = 1000
_SEASONS = 10


class LibraryMethod(StatisticalMethod):
    """A model of statsforecast.

    A series that it cannot fit is forecast by seasonal naive if it is longer than a season, else by naive.

    Attributes:
        max_history: Rows at the end of a series that the model is fitted to; unset, 1,000, or ten seasons where those
            are more.
        has_intervals: Whether the model has prediction intervals of its own.
        least: Rows that it needs.
    """

    extra: ClassVar[str | None] = "statistical"
    has_intervals: ClassVar[bool] = True
    least: ClassVar[int] = 1

    max_history: Annotated[int, Field(ge=2)] | None = None

    def rows_used(self, season_length: int) -> int:
        return self.max_history or max(_ROWS, _SEASONS * season_length)

    def require(self) -> None:
        load_models(self.name)

    def build(self, models: Any, season_length: int) -> SeriesModel:
        """Return the model, from the module of statsforecast."""
        raise NotImplementedError

    def refusal(self, history: Floats, season_length: int) -> str | None:
        """Return why a history cannot be fitted, or ``None``."""
        del season_length
        if not len(history):
            return "no observed value"
        return f"{len(history)} rows; it needs {self.least}" if len(history) < self.least else None

    def forecast(self, windows: NaiveForecasts, quantiles: Sequence[float], *, jobs: int = 1) -> MethodForecast:
        season, horizon = windows.season_length, windows.horizon
        most = self.rows_used(season)
        histories = [history_before(windows, place, most) for place in range(len(windows.rows))]
        made = forecast_histories(SeriesTask(self, histories, season, horizon, tuple(quantiles)), jobs)
        fallbacks = []
        for seasonal in (True, False):
            places = [at for at in made.reasons if (season > 1 and len(histories[at]) > season) is seasonal]
            if not places:
                continue
            naive = windows.take(np.array(places))
            point = naive.seasonal_naive() if seasonal else naive.last_value()
            spread = naive.seasonal_naive_spread() if seasonal else naive.last_value_spread()
            made.point[places], made.quantiles[places] = point, normal_quantiles(point, spread, quantiles)
            name = "seasonal_naive" if seasonal else "naive"
            fallbacks += [Fallback(place, name, made.reasons[place]) for place in places]
        _fill_quantiles(windows, made.point, made.quantiles, quantiles)
        return MethodForecast(made.point, made.quantiles, sorted(fallbacks))


def history_before(windows: NaiveForecasts, place: int, most: int) -> AnyFloats:
    """Return the series before the first target of a window, from its first observed value on, without gaps.

    Missing values lie on the line between their observed neighbours, and those at the end repeat the last one. Without
    any, it is a view of the panel: histories of many windows of a series overlap, and copies would fill the memory.
    """
    panel, series, row = windows.panel, int(windows.series[place]), int(windows.rows[place])
    begin = max(int(panel.first_observed[series]), row - most)
    values = panel.y[begin:row]
    if panel.mask is None or panel.mask[begin:row].all():
        return values
    seen = np.flatnonzero(panel.mask[begin:row])
    if not len(seen):
        return values[:0]
    return np.interp(np.arange(seen[0], len(values)), seen, values[seen])


def _fill_quantiles(windows: NaiveForecasts, point: Floats, bounds: Floats, quantiles: Sequence[float]) -> None:
    """Put the spread of naive forecasts around points whose own quantiles are not finite, in place."""
    wrong = np.flatnonzero(~np.isfinite(bounds).all(axis=(1, 2)) & np.isfinite(point).all(axis=1))
    if len(wrong):
        bounds[wrong] = normal_quantiles(point[wrong], windows.take(wrong).last_value_spread(), quantiles)
