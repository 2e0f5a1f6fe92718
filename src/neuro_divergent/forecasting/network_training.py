"""The network of a task, with its trainer and its batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from torch import Tensor

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.environment import describe_environment
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.forecasting.fitted import FittedModel, build_network
from neuro_divergent.forecasting.predictor import Predictor
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.trained_on import TrainedOn, find_target_range
from neuro_divergent.forecasting.uncertainty.paths import draws_paths, forecast_from
from neuro_divergent.forecasting.uncertainty.residuals import fit_residuals
from neuro_divergent.forecasting.validation import validation_batch_size, validation_windows
from neuro_divergent.forecasting.warm_start import load_weights
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer

_TARGET_LIMIT = 100.0  # scales of the history: what lies farther away is a break or an error, not a pattern to learn


class NetworkTraining:
    """All that is needed to train a network on prepared data.

    Args:
        architecture: Shape of the network.
        config: How to train.
        prepared: The data, and the weights to start from.
        callbacks: Callbacks that receive the events of training.

    Attributes:
        trainer: The trainer, with the new network.
        train: Batches of the training part.
        validation: Batches of the validation part; ``None`` if there is none.
    """

    def __init__(
        self,
        architecture: Architecture,
        config: TrainingConfig,
        prepared: PreparedData,
        callbacks: Sequence[CallbackLike] = (),
    ) -> None:
        self.prepared = prepared
        self.batcher = prepared.batcher(resolve_device(config.device))
        with seeded(config.seed):
            self.network = build_network(architecture, prepared.task, prepared.spec)
        if prepared.initial is not None:
            load_weights(prepared.initial, self.network, architecture)
        self.trainer = Trainer(
            self.network,
            prepared.task.loss,
            config,
            callbacks=callbacks,
            metrics={"mae": self._mean_absolute_error},
            restore=self.batcher.restore,
            name_row=prepared.name_row,
        )
        self.train = training_loader(prepared, config, self.batcher)
        checked = validation_windows(prepared.split.validation)
        order = Order(
            batch_size=validation_batch_size(checked), shuffle=False, seed=config.seed, drop_last=config.drop_last
        )
        self.validation = WindowLoader(checked, self.batcher, order) if len(checked) else None

    def fitted_model(self) -> FittedModel:
        """Return the model after training, with its residuals on the validation part."""
        prepared, trainer = self.prepared, self.trainer
        residuals = fit_residuals(self.network, prepared.task.loss, self.batcher, prepared.split.validation)
        steps = trainer.state.selected_step
        return FittedModel(
            task=prepared.task,
            spec=prepared.spec,
            context=prepared.panel.tail(prepared.task.history).without_weights(),
            predictor=Predictor(self.network, prepared.task.loss, residuals.intervals, residuals.copula),
            scaler_params=prepared.scaler_params,
            spreads=prepared.spreads,
            covariates=self.batcher.covariates,
            device=trainer.device,
            backend=prepared.backend,
            history=trainer.history.frame(),
            environment=describe_environment(threads=trainer.threads, device=str(trainer.device)),
            trained_on=TrainedOn(
                steps=trainer.state.step if steps is None else steps,
                windows=len(prepared.split.train),
                target_range=find_target_range(prepared.panel, prepared.split.train.ends),
            ),
        )

    def refitted_model(self, first: FittedModel) -> FittedModel:
        """Return the model after a second training on all rows.

        Task, history of training and residuals are those of the first one, which did not see the validation part.
        """
        second = self.fitted_model()
        predictor = dataclasses.replace(first.predictor, network=self.network)
        assert second.trained_on is not None
        trained_on = dataclasses.replace(second.trained_on, all_rows=True)
        return dataclasses.replace(
            second, task=first.task, predictor=predictor, history=first.history, trained_on=trained_on
        )

    def _mean_absolute_error(self, output: Tensor, batch: Batch) -> Tensor:
        """Return absolute errors in the units of the data."""
        assert batch.future_y is not None
        loss = self.prepared.task.loss
        if draws_paths(self.network, loss):  # the loss is of each step given the true steps before
            output = forecast_from(self.network, batch)
        point = loss.forecast(output, (), batch).point
        return (self.batcher.restore(point, batch) - self.batcher.restore(batch.future_y, batch)).abs()


def training_loader(prepared: PreparedData, config: TrainingConfig, batcher: WindowBatcher) -> WindowLoader:
    """Return the batches of the training part.

    Args:
        prepared: The data.
        config: How to train: size and order of batches.
        batcher: What makes batches of the data.
    """
    windows, task = prepared.split.train, prepared.task
    order = Order(
        batch_size=config.batch_size_for(len(windows)),
        shuffle=config.shuffle,
        seed=config.seed,
        drop_last=config.drop_last,
    )
    limited = dataclasses.replace(batcher, target_limit=_target_limit(task))
    return WindowLoader(
        windows,
        limited,
        order,
        by_time=not config.shuffle,
        balance=task.balance,
        replay=task.replay,
        prefetch=config.prefetch,
    )


def _target_limit(task: Task) -> float | None:
    """Return the largest scaled target of training; a loss that needs the target as it is has no limit."""
    is_scaled = task.scaler.has_scale and task.scaler.applied and not task.loss.traits.requires_original_scale
    return _TARGET_LIMIT if is_scaled else None
