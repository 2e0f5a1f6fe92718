"""A client: data that do not leave it, and the training on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.federated.client_memory import ClientMemory
from neuro_divergent.federated.client_name import check_name
from neuro_divergent.federated.local_training import LocalTraining, local_config, round_seed
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.forecasting.prepared_data import PreparedData, backend_for, prepare

_LOCAL, _KEPT = "local.", "kept."


class Client:
    """Trains the shared network on its own data when it is asked to.

    Values, ids, scalers, scaling of covariates, errors and forecasts stay here. What leaves is the change of the shared
    weights, the number of training windows and the mean training loss; with privacy, the change alone.

    Args:
        name: Name of the client.
        shared: The network that all clients train.
        data: As for ``Forecaster.fit``.
        memory: What it kept from earlier rounds.

    Raises:
        DataError: If the data cannot be used.
        ConfigError: If their columns do not fit the settings of the federation.
    """

    def __init__(self, name: str, shared: SharedNetwork, data: Any, memory: ClientMemory | None = None) -> None:
        self.name = check_name(name)
        self.shared = shared
        self.memory = memory or ClientMemory()
        self.prepared = _prepare(shared, data, name)
        config = shared.config
        self.training = LocalTraining(local_config(config.run.training, config.federation), self.prepared)
        if not len(self.training.loader):
            raise DataError(f"client {name!r}: there is no window to train on.")

    @property
    def examples(self) -> int:
        """Training windows of an epoch."""
        return self.training.examples

    @property
    def frequency(self) -> str:
        """The step between its rows."""
        return str(self.prepared.panel.frequency)

    def train(self, task: RoundTask) -> Update:
        """Train for a round, and return what changed.

        The same round gives the same update again.

        Raises:
            DivergedError: If the loss, the gradients or the weights became NaN or infinite.
        """
        layout, network = self.shared.layout, self.shared.network
        aggregation = self.shared.config.federation.aggregation
        state = self.memory.load(task.round)
        kept = {name.removeprefix(_KEPT): item for name, item in state.items() if name.startswith(_KEPT)}
        self.give_weights(network, task.weights, state)
        received = {**task.message, **{f"own_{name}": item for name, item in kept.items()}}
        transforms = aggregation.transforms(
            layout.split(task.weights), {name: layout.split(vector) for name, vector in received.items()}
        )
        trainer = self.training.trainer(network, self.seed(task.round), task.lr_scale, transforms)
        history = trainer.fit(self.training.loader.reseeded(self.seed(task.round)))
        delta = layout.read(network) - task.weights
        rate = self.training.learning_rate(task.lr_scale)
        message, kept = aggregation.finish_client(delta, trainer.state.step, rate, task.message, kept)
        if aggregation.has_client_state:
            self.memory.save(task.round, {**self._local_tensors(network), **_prefixed(_KEPT, kept)})
        loss = history.rows[-1]["train_loss"]
        return self.update(task.round, delta, loss, message)

    def update(
        self, number: int, delta: Tensor, loss: float | None, message: Mapping[str, Tensor] | None = None
    ) -> Update:
        """Return the update of a round, with what may be told besides it.

        Its numbers have the types of the network, so that it is the same one however it is sent.
        """
        layout = self.shared.layout
        delta = layout.rounded(delta)
        if self.shared.config.federation.privacy is not None:
            return Update(self.name, number, delta, examples=1, loss=None)
        further = {name: layout.rounded(vector) for name, vector in (message or {}).items()}
        return Update(self.name, number, delta, self.examples, loss, further)

    def seed(self, number: int) -> int:
        """Return the seed of a round."""
        return round_seed(self.shared.config.federation.seed, self.name, number)

    @torch.no_grad()
    def give_weights(self, network: nn.Module, weights: Tensor, state: Mapping[str, Tensor] | None = None) -> None:
        """Copy shared weights, and those that stay here, into a network.

        Args:
            network: The network.
            weights: The shared weights.
            state: What this client kept; unset, after its last round.
        """
        state = self.memory.load(_AFTER_ALL) if state is None else state
        own = network.state_dict()
        first = self._first_local
        for name in self._local_names:
            own[name].copy_(state.get(_LOCAL + name, first[name]))
        self.shared.layout.write(network, weights)

    @cached_property
    def _local_names(self) -> list[str]:
        local = self.shared.config.federation.aggregation.local_names(self.shared.network)
        return [name for name in self.shared.network.state_dict() if name in local]

    @cached_property
    def _first_local(self) -> dict[str, Tensor]:
        """What stays here, as it is before the first round."""
        if not self._local_names:
            return {}
        first = self.shared.build().state_dict()
        return {name: first[name] for name in self._local_names}

    def _local_tensors(self, network: nn.Module) -> dict[str, Tensor]:
        own = network.state_dict()
        return {_LOCAL + name: own[name].detach().clone() for name in self._local_names}


_AFTER_ALL = 10**12  # no federation has more rounds


def _prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: item for name, item in tensors.items()}


@contextmanager
def naming_client(name: str) -> Iterator[None]:
    """Say whose data they are, in errors about data."""
    try:
        yield
    except DataError as error:
        raise DataError(f"client {name!r}: {error}") from None


def read_client_panel(config: FederationConfig, data: Any, name: str) -> Panel:
    """Read the table of a client, with the columns and categories of the federation.

    Raises:
        ConfigError: If a covariate is categorical and its values were not agreed on.
    """
    if isinstance(data, Panel):
        panel = data
    else:
        with naming_client(name):
            panel = build_panel(data, config.run.data.schema_fields, categories=config.categories or None)
    unknown = [column for column in panel.categories if panel.categories[column] != config.categories.get(column)]
    if unknown:
        raise ConfigError(
            f"client {name!r}: column {unknown[0]!r} is categorical, and the network has a weight for each value. "
            f"Agree on its values: categories={{{unknown[0]!r}: [...]}}, or [categories] in TOML."
        )
    return panel


def _prepare(shared: SharedNetwork, data: Any, name: str) -> PreparedData:
    panel = read_client_panel(shared.config, data, name)
    with naming_client(name):
        prepared = prepare(shared.architecture, shared.task, panel, {})
    if prepared.spec != shared.spec:
        raise ConfigError(
            f"client {name!r}: its columns make another network than the settings of the federation: "
            f"{prepared.spec} instead of {shared.spec}."
        )
    return dataclasses.replace(prepared, backend=backend_for(data))
