"""What models share that are built around another one: its task, training and state are theirs."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from neuro_divergent.forecasting.protocol import FittedState, ForecastModel, Named
from neuro_divergent.forecasting.saving import SavedModel

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.splits import Split
    from neuro_divergent.forecasting.task import Task
    from neuro_divergent.training.config import TrainingConfig

M = TypeVar("M", bound=ForecastModel)


class ModelWrapper(SavedModel, Generic[M]):
    """A model around another one.

    Attributes:
        forecaster: The model inside.
    """

    forecaster: M

    @property
    def task(self) -> Task:
        """The task of the model inside."""
        return self.forecaster.task

    @property
    def training(self) -> TrainingConfig:
        """How the model inside is trained."""
        return self.forecaster.training

    @property
    def architecture(self) -> Named:
        """The architecture of the model inside."""
        return self.forecaster.architecture

    @property
    def fitted(self) -> FittedState:
        """The state of the fitted model inside."""
        return self.forecaster.fitted

    @property
    def panel(self) -> Panel | None:
        """The data of training; ``None`` before, and in a model that was loaded."""
        return self.forecaster.panel

    @property
    def split(self) -> Split | None:
        """Windows of the training data by their use; ``None`` before training, and in a model that was loaded."""
        return self.forecaster.split

    @property
    def validated(self) -> Self:
        """The same around the model inside as it was before it was trained on all rows; itself if it was not."""
        inside = self.forecaster.validated
        if inside is self.forecaster:
            return self
        other = copy(self)
        other.forecaster = inside  # type: ignore[assignment]
        return other
