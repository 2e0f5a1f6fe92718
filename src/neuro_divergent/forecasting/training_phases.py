"""The two trainings of a forecaster: on the training part, and again on all rows once validation showed how long."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.forecasting.distill import TaughtLoader
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster

Checkpoint = Mapping[str, Any] | str | Path


@dataclass(frozen=True, eq=False)
class TrainingPhases:
    """Trains a forecaster on prepared data, and then again with the validation part among them.

    Attributes:
        forecaster: The forecaster, changed in place.
        prepared: The data, and the weights to start from.
        teacher: Fitted forecaster to learn from, if any.
    """

    forecaster: Forecaster
    prepared: PreparedData
    teacher: Forecaster | None = None

    def train(
        self, callbacks: Sequence[CallbackLike], *, resume: Checkpoint | None = None, allow_changes: bool = False
    ) -> bool:
        """Train on the training part, and return whether to train again: not if somebody stopped it."""
        training = self.first_training(callbacks)
        training.trainer.fit(self._taught(training), training.validation, resume=resume, allow_changes=allow_changes)
        return self.finish_first(training)

    def first_training(self, callbacks: Sequence[CallbackLike] = ()) -> NetworkTraining:
        """Return the training on the training part, for the caller to run and to finish."""
        self._forget()
        return self._build(self.forecaster.training, self.prepared, callbacks)

    def finish_first(self, training: NetworkTraining) -> bool:
        """Keep the model of the first training, and return whether to train again."""
        self.forecaster._fitted = training.fitted_model()
        return self._refits and not training.trainer.state.stop_requested

    def restore(self, path: Path) -> bool:
        """Load the model of a first training that was saved, and return whether to train again."""
        fitted = type(self.forecaster).load(path).fitted
        self._forget()
        self.forecaster._fitted = fitted
        return self._refits

    def refit(
        self, callbacks: Sequence[CallbackLike], further: Sequence[CallbackLike] = (), resume: Checkpoint | None = None
    ) -> None:
        """Train again on all rows, for as many steps as the weights of the first training have.

        If that is stopped on the way, the first model stays: weights whose rate has not fallen yet are worse. Its
        events go to ``further`` callbacks and, of those of the first training, to the ones with ``in_refit``.
        """
        heard = [callback for callback in callbacks if getattr(callback, "in_refit", False)]
        training = self.second_training(self.all_rows(), [*heard, *further])
        training.trainer.fit(self._taught(training), resume=resume, allow_changes=True)
        self.finish_second(training)

    def all_rows(self) -> PreparedData:
        """Return the data of the second training."""
        task = self.prepared.task.replace(validation=0)
        return PreparedData.of(task, self.prepared.panel, self.prepared.backend)

    def second_training(self, data: PreparedData, callbacks: Sequence[CallbackLike] = ()) -> NetworkTraining:
        """Return the training on all rows, for the caller to run and to finish."""
        trained_on = self.forecaster.fitted.trained_on
        assert trained_on is not None
        config = self.forecaster.training.replace(
            max_steps=max(trained_on.steps, 1), max_epochs=None, early_stopping=None, metrics=(), callbacks=()
        )
        training = self._build(config, dataclasses.replace(data, initial=self.prepared.initial), callbacks)
        training.trainer.label = "all rows"
        return training

    def finish_second(self, training: NetworkTraining) -> None:
        """Keep the model of the second training, unless that was stopped."""
        if training.trainer.state.stop_reason is None:
            first = self.forecaster.fitted
            self.forecaster._set_fitted(training.refitted_model(first), validated=first)

    @property
    def _refits(self) -> bool:
        """Whether the second training follows, if nobody stops the first one."""
        return self.prepared.task.refit and len(self.prepared.split.validation) > 0

    def _forget(self) -> None:
        """Make the data those of the forecaster, without results of an earlier training on others."""
        forecaster = self.forecaster
        forecaster.panel, forecaster.split = self.prepared.panel, self.prepared.split
        forecaster._prediction = forecaster._validated = None

    def _build(self, config: TrainingConfig, data: PreparedData, callbacks: Sequence[CallbackLike]) -> NetworkTraining:
        """Return one of the trainings; where there are two, each may take half of a time limit."""
        if config.max_seconds is not None and self._refits:
            config = config.replace(max_seconds=config.max_seconds / 2)
        return NetworkTraining(self.forecaster.architecture, config, data, callbacks)

    def _taught(self, training: NetworkTraining) -> Any:
        """Return the batches to train on, with what the teacher forecasts."""
        return training.train if self.teacher is None else TaughtLoader(training.train, self.teacher.fitted)
