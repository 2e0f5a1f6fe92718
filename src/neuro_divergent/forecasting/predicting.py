"""Prediction after the end of each series, the same for a forecaster and for an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from neuro_divergent.forecasting.saving import SavedModel
from neuro_divergent.forecasting.task import check_horizon


class Prediction(Protocol):
    """A prepared prediction: only the requested levels are open."""

    def table(self, levels: Sequence[float] = (), quantiles: Sequence[float] = ()) -> Any:
        """Run the networks and return the result as a table."""


class PredictingModel(SavedModel):
    """A model that prepares the prediction for its own series once, and uses it for each call of ``predict``."""

    _prediction: Prediction | None = None

    def predict(
        self,
        data: Any = None,
        *,
        future: Any = None,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        horizon: int | None = None,
    ) -> Any:
        """Forecast what comes after the end of each series.

        Args:
            data: Series to forecast, with the columns that training had; unset, those of training.
            future: Table of the covariates known ahead, for the horizon of every series.
            levels: Central intervals to give, in percent: ``[80, 95]``.
            quantiles: Quantiles to give, between 0 and 1: ``[0.1, 0.9]``.
            horizon: Steps to forecast; more than trained for are reached by feeding forecasts back as history, in an
                ensemble by each member on its own.

        Returns:
            A table of the same kind as the input: id, time, ``forecast``, then ``lo-80`` and ``hi-80`` for each level
            and ``q-0.1`` for each quantile.
        """
        if data is None and future is None and horizon is None:
            if self._prediction is None:
                self._prediction = self.prepare_prediction()
            return self._prediction.table(levels, quantiles)
        check_horizon(horizon)
        return self.prepare_prediction(data, future=future, horizon=horizon).table(levels, quantiles)

    def prepare_prediction(self, data: Any = None, *, future: Any = None, horizon: int | None = None) -> Prediction:
        """Read and check what ``predict`` forecasts from."""
        raise NotImplementedError
