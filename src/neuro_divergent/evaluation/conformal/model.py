"""What intervals can be calibrated for: a forecaster, an ensemble of them, or anything that answers as they do."""

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
    """What training left behind, as far as it matters here."""

    @property
    def context(self) -> Panel:
        """The end of each series."""


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """What tables call it."""


class Model(Protocol):
    """A trained model that forecasts tables and windows."""

    split: Split | None

    @property
    def task(self) -> Task:
        """The task, with nothing left to be decided."""

    @property
    def fitted(self) -> Remains:
        """What training left behind."""

    @property
    def architecture(self) -> Named:
        """The architecture."""

    @property
    def training(self) -> TrainingConfig:
        """How it was trained."""

    def predict(self, data: Any = None, *, future: Any = None, quantiles: Sequence[float] = ()) -> Any:
        """Forecast what comes after the end of each series."""

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel beside what happened."""
