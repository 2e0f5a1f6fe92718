"""The training of one client within a round."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor, nn

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import WindowLoader
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.forecasting.network_training import training_loader
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.gradients.transforms.base import GradientTransform
from neuro_divergent.training.optimizers.base import GroupedOptimizer
from neuro_divergent.training.schedules.constant import Constant
from neuro_divergent.training.thread_count import network_threads

_NEVER = 10**9


def local_config(training: TrainingConfig, settings: FederationSettings) -> TrainingConfig:
    """Return how clients train within a round.

    What restarts in every round would do harm there: schedules, early stopping, averages of weights. Nothing is
    reported or saved within a round.

    Raises:
        ConfigError: If the learning rate is to change over rounds and the optimizer has none.
    """
    if not isinstance(training.optimizer, GroupedOptimizer) and not isinstance(settings.local_schedule, Constant):
        raise ConfigError(f"local_schedule: the optimizer {training.optimizer.name!r} has no learning rate to change.")
    return training.replace(
        max_epochs=settings.local_epochs,
        max_steps=settings.local_steps,
        max_seconds=None,
        schedule=Constant(),
        early_stopping=None,
        average=None,
        callbacks=(),
        metrics=(),
        log_every=_NEVER,
        stop_file=None,
        strategy=None,
    )


def round_seed(seed: int, client: str, number: int) -> int:
    """Return the seed of a client in a round, so that every round has an order of its own."""
    digest = hashlib.sha256(f"{seed}/{client}/{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


@dataclass(frozen=True, eq=False)
class LocalTraining:
    """Trains a network on the windows of a client.

    Attributes:
        config: How to train, as ``local_config`` returns it.
        prepared: The data of the client.
    """

    config: TrainingConfig
    prepared: PreparedData

    @property
    def examples(self) -> int:
        """Training windows of an epoch."""
        return self.loader.num_windows

    @cached_property
    def batcher(self) -> WindowBatcher:
        """What makes batches of the data."""
        return self.prepared.batcher(resolve_device(self.config.device))

    @cached_property
    def loader(self) -> WindowLoader:
        """The batches of the training part."""
        return training_loader(self.prepared, self.config, self.batcher)

    def learning_rate(self, scale: float) -> float:
        """Return the learning rate of a round; 0 if the optimizer has none."""
        optimizer = self.config.optimizer
        return scale * optimizer.lr if isinstance(optimizer, GroupedOptimizer) else 0.0

    def trainer(
        self, network: nn.Module, seed: int, scale: float = 1.0, transforms: Sequence[GradientTransform] = ()
    ) -> Trainer:
        """Return the trainer of a round.

        Args:
            network: The network, trained in place.
            seed: Of this round.
            scale: What the learning rate is multiplied with.
            transforms: What the aggregation does to gradients.
        """
        config = self.config
        changes: dict[str, object] = {"seed": seed}
        if config.threads == "auto":  # which may change while training runs, and with it the last bits of the weights
            changes["threads"] = network_threads(network, self._example)
        if scale != 1.0:
            changes["optimizer"] = config.optimizer.replace(lr=self.learning_rate(scale))
        return Trainer(
            network,
            self.prepared.task.loss,
            config.replace(**changes),
            restore=self.batcher.restore,
            name_row=self.prepared.name_row,
            gradient_transforms=transforms,
        )

    @cached_property
    def _example(self) -> Tensor:
        batch = next(iter(self.loader.epoch(0)))
        return batch.past_y
