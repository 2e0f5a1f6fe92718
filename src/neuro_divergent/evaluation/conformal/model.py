"""Protocol of the models that intervals can be calibrated for: forecasters, ensembles and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from neuro_divergent.data.panel import Panel
from neuro_divergent.data.splits import Split
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.task import Task
from neuro_divergent.training.config import TrainingConfig


class Remains(Protocol):
    """State of a fitted model, as far as conformal prediction uses it."""

    @property
    def context(self) -> Panel:
        """The end of each series."""


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """Name in tables."""


class Model(Protocol):
    """A trained model that forecasts tables and windows."""

    split: Split | None

    @property
    def task(self) -> Task:
        """The task, with all sizes resolved."""

    @property
    def fitted(self) -> Remains:
        """State of the fitted model."""

    @property
    def architecture(self) -> Named:
        """The architecture."""

    @property
    def training(self) -> TrainingConfig:
        """Settings of training."""

    def predict(self, df: Any = None, *, future: Any = None, quantiles: Sequence[float] = ()) -> Any:
        """Forecast what comes after the end of each series."""

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, with the observed values."""
