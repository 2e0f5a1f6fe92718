"""Weights from the end of each cycle of the learning rate."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.forecasting.fitted import FittedModel, build_network
from neuro_divergent.forecasting.predictor import Predictor
from neuro_divergent.forecasting.uncertainty.residuals import fit_residuals
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.checkpointing.snapshot import snapshot
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.parted import put_together
from neuro_divergent.training.schedules.chain import Chain
from neuro_divergent.training.schedules.cosine import Cosine

if TYPE_CHECKING:
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.training.engine import Trainer

Weights = dict[str, Tensor]
_FILE = "snapshots.safetensors"


def in_cycles(training: TrainingConfig, count: int) -> TrainingConfig:
    """Return settings whose learning rate falls along ``count`` equal cosines, each from the full rate.

    Early stopping and averages of weights are switched off: each cycle is complete.

    Raises:
        ConfigError: If the optimizer keeps averages in the place of weights.
    """
    if training.optimizer.averages:
        raise ConfigError(
            f"snapshots: {training.optimizer.name} averages weights over all of training, so those of a cycle are not "
            "apart from the others. Choose another optimizer, such as 'adamw' or 'sgd'."
        )
    return training.replace(schedule=Chain([Cosine()] * count), early_stopping=None, average=None)


class Snapshots(Callback):
    """Keeps the weights from the end of each cycle but the last, whose weights are those of the trained network.

    Args:
        schedule: The cycles, one after the other.
        place: Directory to write them to when training is over; ``None`` for in memory only.
    """

    def __init__(self, schedule: Chain, place: Path | None = None) -> None:
        self.schedule = schedule
        self.place = place
        self._kept: dict[str, Weights] = {}

    def fit_start(self, trainer: Trainer) -> None:
        """Refuse a training with fewer steps than cycles."""
        if trainer.plan.total_steps < len(self.schedule.parts):
            raise ConfigError(
                f"snapshots: {trainer.plan.total_steps} steps of training have no room for {len(self.schedule.parts)} "
                "cycles; train longer, or take fewer snapshots."
            )

    def step_end(self, trainer: Trainer) -> None:
        """Keep the weights if the next step begins another cycle."""
        step = trainer.state.step
        if step < trainer.plan.total_steps and self.schedule.locate(step, trainer.plan)[1] == step:
            trainer.strategy.settle()
            self._kept[str(step)] = snapshot(trainer.module.state_dict())

    def fit_end(self, trainer: Trainer) -> None:
        """Write the kept weights, before later callbacks mark training as finished."""
        for kept in self._kept.values():  # each process may have kept a part of them
            kept.update({name: put_together(item) for name, item in kept.items()})
        if self.place is not None and trainer.strategy.rank == 0:
            named = {f"{step}.{name}": item.cpu() for step, kept in self._kept.items() for name, item in kept.items()}
            write_directory(self.place, [(_FILE, dump_tensors(named))])

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state: the weights kept so far."""
        return {"kept": self._kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._kept = {step: dict(weights) for step, weights in state["kept"].items()}

    def weights(self) -> list[Weights]:
        """Return the kept weights in the order of training; from the directory if training had finished before."""
        kept = self._kept
        if not kept and self.place is not None and self.place.exists():
            content = read_directory(self.place, only=[_FILE])[_FILE]
            for name, tensor in load_tensors(content, f"{self.place}/{_FILE}").items():
                step, _, place = name.partition(".")
                kept.setdefault(step, {})[place] = tensor
        return [kept[step] for step in sorted(kept, key=int)]


def with_weights(fitted: FittedModel, architecture: Architecture, weights: Weights, validation: Windows) -> FittedModel:
    """Return a trained model with other weights, and its residuals on validation windows."""
    with torch.random.fork_rng():  # the weights it is built with are replaced at once
        network = build_network(architecture, fitted.task, fitted.spec)
    network.load_state_dict(weights)
    network = network.to(fitted.device).eval()
    residuals = fit_residuals(network, fitted.task.loss, fitted.batcher(validation.panel), validation)
    predictor = Predictor(network, fitted.task.loss, residuals.intervals, residuals.copula)
    return dataclasses.replace(fitted, predictor=predictor)
