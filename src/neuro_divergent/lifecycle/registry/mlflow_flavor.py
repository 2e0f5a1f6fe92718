"""Loads an exported version for ``mlflow.pyfunc``; nothing here imports MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuro_divergent.forecasting.protocol import ForecastModel


class MLflowForecaster:
    """A model as MLflow calls it."""

    def __init__(self, model: ForecastModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Forecast what comes after the end of each series.

        Args:
            model_input: Table of the series, as for ``predict``; ``None`` or one without rows for the series of
                training.
            params: ``levels`` and ``quantiles``, as for ``predict``.

        Returns:
            A table of the same kind as the input, or as that of training.
        """
        options = {name: tuple(value) for name, value in (params or {}).items() if name in ("levels", "quantiles")}
        has_rows = model_input is not None and len(model_input) > 0
        return self.model.predict(model_input if has_rows else None, **options)

    def get_raw_model(self) -> ForecastModel:
        """Return the model itself; MLflow calls this by its name."""
        return self.model


def _load_pyfunc(data_path: str) -> MLflowForecaster:
    """Return the model of a directory; MLflow calls this by its name."""
    from neuro_divergent.forecasting.load import load

    return MLflowForecaster(load(data_path))
