"""What a forecaster and an ensemble share: a fitted state of their own, and predictions from it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from neuro_divergent.forecasting.protocol import FittedState
from neuro_divergent.forecasting.saving import SavedModel
from neuro_divergent.forecasting.task import check_horizon

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.schema import Schema
    from neuro_divergent.data.splits import Split
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.predictor import WindowForecasts


class Prediction(Protocol):
    """A prepared prediction: only the requested levels are open."""

    def table(self, levels: Sequence[float] = (), quantiles: Sequence[float] = ()) -> Any:
        """Run the networks and return the result as a table."""


F = TypeVar("F", bound=FittedState)


class PredictingModel(SavedModel, Generic[F]):
    """A model that forecasts from a fitted state of its own."""

    panel: Panel | None = None  # the data of training; None before, and in a model that was loaded
    split: Split | None = None  # their windows for training, validation and test
    _fitted: F | None = None
    _validated: F | None = None  # before the second training, if there was one
    _prediction: Prediction | None = None  # for its own series, prepared once

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

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values.

        Args:
            windows: Windows of a panel.
            levels: Central intervals to give, in percent.
            quantiles: Quantiles to give, between 0 and 1.
        """
        return self.fitted.forecast_windows(windows, levels, quantiles)

    @property
    def fitted(self) -> F:
        """The state of the fitted model; an error if it is not fitted."""
        raise NotImplementedError

    @property
    def validated(self) -> Self:
        """The model whose forecasts of the validation part are honest: as it was before it was trained on all rows.

        It is the model itself where that was not done, and where that state is not known: in a model that was loaded.
        """
        if self._validated is None:
            return self
        other = copy(self)
        other._set_fitted(self._validated)
        return other

    @property
    def schema(self) -> Schema:
        """Roles of the columns."""
        return self.fitted.context.schema

    def _set_fitted(self, fitted: F | None, validated: F | None = None) -> None:
        """Change the state, after which a prediction that was prepared is out of date."""
        self._fitted, self._validated, self._prediction = fitted, validated, None
