"""Forecasts of a statistical model after the end of each series, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.io.source import Backend, to_native
from neuro_divergent.forecasting.prediction_context import forecast_columns, forecast_index, read_history
from neuro_divergent.forecasting.statistical.fitted import FittedStatistical
from neuro_divergent.forecasting.statistical.methods.base import MethodForecast
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles


@dataclass(frozen=True, eq=False)
class StatisticalPrediction:
    """A prepared forecast; what has been computed is kept, so that the same levels cost nothing the next time.

    Attributes:
        fitted: The model, with the series to forecast.
        steps: Steps to forecast.
        index: The id and time columns of the result.
        backend: Kind of table to return.
    """

    fitted: FittedStatistical
    steps: int
    index: dict[str, pl.Series]
    backend: Backend
    _known: dict[tuple[float, ...], MethodForecast] = field(default_factory=dict)

    @classmethod
    def of(cls, fitted: FittedStatistical, data: Any = None, *, horizon: int | None = None) -> StatisticalPrediction:
        """Prepare a forecast, from new data if there is any.

        Raises:
            InputError: If there is none and the model holds no series either.
        """
        backend = fitted.backend
        if data is not None:
            panel, backend = read_history(data, fitted.context, fitted.task)
            fitted = fitted.with_context(panel)
        elif not fitted.has_context:
            raise InputError("this model was saved without context, so it holds no series: pass them as data.")
        steps = horizon or fitted.task.horizon
        return cls(fitted, steps, forecast_index(fitted.context, steps), backend)

    def table(self, levels: Sequence[float] = (), quantiles: Sequence[float] = ()) -> Any:
        """Fit the model to each series and return the forecasts as a table."""
        requested = RequestedQuantiles(levels, quantiles)
        if requested.all not in self._known:
            panel = self.fitted.context
            series = np.arange(panel.num_series)
            made = self.fitted.forecast(panel, series, panel.offsets[1:], self.steps, requested.all)
            self._known.clear()
            self._known[requested.all] = made
        known = self._known[requested.all]
        bounds = known.quantiles if requested.all else None
        return to_native(forecast_columns(self.index, known.point, requested, bounds), self.backend)
