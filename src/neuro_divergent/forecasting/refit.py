"""The second training of a forecaster, on all rows, once validation has shown how long to train."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig


def first_config(config: TrainingConfig, prepared: PreparedData) -> TrainingConfig:
    """Return how to train before a second training, to which half of a time limit is left."""
    if config.max_seconds is None or not refits(prepared):
        return config
    return config.replace(max_seconds=config.max_seconds / 2)


def refits(prepared: PreparedData) -> bool:
    """Whether a second training follows, if nobody stops the first one."""
    return prepared.task.refit and len(prepared.split.validation) > 0


def refit_data(prepared: PreparedData) -> PreparedData:
    """Return the data with the validation part in the training part, and scalers fitted to both."""
    task = prepared.task.replace(validation=0)
    return dataclasses.replace(PreparedData.of(task, prepared.panel, prepared.backend), initial=prepared.initial)


def refit_config(config: TrainingConfig, steps: int) -> TrainingConfig:
    """Return how to train for a number of steps without validation."""
    seconds = None if config.max_seconds is None else config.max_seconds / 2
    return config.replace(
        max_steps=max(steps, 1), max_epochs=None, max_seconds=seconds, early_stopping=None, metrics=(), callbacks=()
    )


def refit_callbacks(callbacks: Sequence[CallbackLike]) -> list[CallbackLike]:
    """Return the callbacks that also receive the events of the second training."""
    return [callback for callback in callbacks if getattr(callback, "in_refit", False)]
