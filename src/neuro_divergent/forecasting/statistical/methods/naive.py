"""Simple methods, for all series at once: naive, seasonal naive, drift and mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from neuro_divergent.core.arrays import AnyFloats
from neuro_divergent.core.config import register
from neuro_divergent.forecasting.statistical.methods.base import MethodForecast, StatisticalMethod, normal_quantiles
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts


class _SimpleMethod(StatisticalMethod):
    paper: ClassVar[str] = "https://otexts.com/fpp3/simple-methods.html"

    def forecast(self, windows: NaiveForecasts, quantiles: Sequence[float], *, jobs: int = 1) -> MethodForecast:
        del jobs  # it takes less time than a process needs to start
        point = self._point(windows)
        spread = self._spread(windows) if quantiles else point
        return MethodForecast(point, normal_quantiles(point, spread, quantiles))

    def _point(self, windows: NaiveForecasts) -> AnyFloats:
        raise NotImplementedError

    def _spread(self, windows: NaiveForecasts) -> AnyFloats:
        raise NotImplementedError


@register("naive")
class Naive(_SimpleMethod):
    """Repeats the last observed value."""

    def _point(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.last_value()

    def _spread(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.last_value_spread()


@register("seasonal_naive")
class SeasonalNaive(_SimpleMethod):
    """Repeats the last season; the last value where a series is shorter than that."""

    def _point(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.seasonal_naive()

    def _spread(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.seasonal_naive_spread()


@register("drift")
class Drift(_SimpleMethod):
    """Continues the line through the first and the last value."""

    def _point(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.drift()

    def _spread(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.drift_spread()


@register("mean")
class Mean(_SimpleMethod):
    """Repeats the mean of all values, or of the last few.

    Attributes:
        window: Rows at the end of a series that count; all by default.
    """

    window: Annotated[int, Field(ge=1)] | None = None

    def _point(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.mean(self.window)

    def _spread(self, windows: NaiveForecasts) -> AnyFloats:
        return windows.mean_spread(self.window)
