"""What every model that forecasts series can do: a network, an ensemble, a HINT, a calibrated or statistical model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from neuro_divergent.data.io.source import Backend
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.splits import Split
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.predictor import WindowForecasts
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.forecasting.warm_start import InitialLike
    from neuro_divergent.training.callbacks.base import CallbackLike
    from neuro_divergent.training.config import TrainingConfig


class FittedState(Protocol):
    """The state of a fitted model, as far as all kinds share it."""

    @property
    def context(self) -> Panel:
        """The end of each series; empty in a model that was saved without it."""

    @property
    def backend(self) -> Backend:
        """Kind of the input table."""

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values."""


class Named(Protocol):
    """An architecture, or what stands for one in tables."""

    @property
    def name(self) -> str:
        """What tables call it."""


class ForecastModel(Protocol):
    """A model that is fitted to a table of series, forecasts them, and can be saved and copied.

    ``Forecaster``, ``Ensemble``, ``HINT``, ``Conformal`` and ``Statistical`` are of this kind; ``load`` reads any of
    them.
    """

    @property
    def task(self) -> Task:
        """What is forecast; once fitted, with nothing left open."""

    @property
    def training(self) -> TrainingConfig:
        """How it is trained."""

    @property
    def architecture(self) -> Named:
        """The architecture, or what tables call the model."""

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""

    @property
    def fitted(self) -> FittedState:
        """The state of the fitted model.

        Raises:
            NotFittedError: If there is none.
        """

    @property
    def panel(self) -> Panel | None:
        """The data of training; ``None`` before, and in a model that was loaded."""

    @property
    def split(self) -> Split | None:
        """Windows of the training data by their use; ``None`` before training, and in a model that was loaded."""

    @property
    def validated(self) -> ForecastModel:
        """The model whose forecasts of the validation part are honest: as it was before it was trained on all rows.

        It is the model itself where that was not done.
        """

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy of this model contains that comes from the training data, by name."""

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        initial: InitialLike | None = None,
        **schema: Any,
    ) -> Self:
        """Train on a table, from random weights or from those of ``initial``."""

    def predict(
        self, data: Any = None, *, future: Any = None, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> Any:
        """Forecast what comes after the end of each series, of training or of ``data``."""

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values."""

    def save(self, path: str | Path, *, context: bool = True) -> None:
        """Write the fitted model to a directory; ``context=False`` leaves out the values and ids of the data."""

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of the files that ``save`` writes."""

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings."""

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed, by dotted name."""
