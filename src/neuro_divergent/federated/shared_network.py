"""The network that all clients train, as far as it is known without any data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.weight_layout import WeightLayout, has_batch_norm
from neuro_divergent.forecasting.fitted import build_network
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture


@dataclass(frozen=True, eq=False)
class SharedNetwork:
    """Architecture, task and shape of a network that follow from the settings of a federation alone.

    Attributes:
        config: The settings, in which nothing may be left open that data would decide.
    """

    config: FederationConfig

    def __post_init__(self) -> None:
        """Refuse networks whose shape depends on the data of a client."""
        task, architecture = self.config.run.task, self.architecture
        if architecture.traits.mixes_channels and task.joint is not False:
            raise ConfigError(
                f"model: {architecture.name} takes all series at once, so its shape depends on them, and clients with "
                "other series cannot share its weights. Set task.joint to false, or choose another model."
            )
        if task.input_size is None:
            raise ConfigError(
                "task.input_size: set it. Left open, each client would choose it from its own data, and the networks "
                f"would not fit together; three horizons, {3 * task.horizon}, is usual."
            )
        if task.baseline is not None and task.season_length is None:
            raise ConfigError("task.season_length: set it, as the baseline needs the same one for all clients.")
        federation = self.config.federation
        keeps_norms = federation.aggregation.name == "fedbn"
        if federation.privacy is not None and not keeps_norms and has_batch_norm(self.network):
            raise ConfigError(
                f"privacy: {architecture.name} normalises by statistics of its batches, which would leave the clients "
                "without noise. Choose another normalisation, or aggregation='fedbn', which keeps them there."
            )

    @cached_property
    def architecture(self) -> Architecture:
        """The architecture."""
        return self.config.run.architecture

    @property
    def task(self) -> Task:
        """The task, with nothing left open."""
        return self.config.run.task.replace(joint=False)

    @cached_property
    def spec(self) -> TaskSpec:
        """What the network is built for."""
        schema, task = self.config.run.data, self.task

        def features(names: tuple[str, ...]) -> tuple[Feature, ...]:
            sizes = {name: len(values) + 1 for name, values in self.config.categories.items()}
            return tuple(Feature(name, sizes.get(name)) for name in names)

        return TaskSpec(
            horizon=task.horizon,
            input_size=task.history,
            channels=1,
            outputs=task.loss.outputs,
            past=features(schema.past),
            future=features((*schema.future, *schema.calendar)),
            static=features(schema.static),
        )

    @cached_property
    def network(self) -> nn.Module:
        """A network for all that is done one after the other in this process."""
        return self.build()

    @cached_property
    def layout(self) -> WeightLayout:
        """Which of its weights are shared."""
        return WeightLayout.of(self.network, self.config.federation.aggregation.local_names(self.network))

    @property
    def initial(self) -> Tensor:
        """The shared weights before the first round."""
        return self.layout.read(self.build())

    def build(self) -> nn.Module:
        """Return a network with the weights before the first round, the same ones each time."""
        with seeded(self.config.federation.seed):
            network = build_network(self.architecture, self.task, self.spec)
        return network.double() if self.config.run.training.precision == "float64" else network
