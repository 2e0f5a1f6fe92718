"""The contract of aggregations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn

    from neuro_divergent.training.config import TrainingConfig
    from neuro_divergent.training.gradients.transforms.base import GradientTransform

Vectors = Mapping[str, "Tensor"]
"""Vectors by name: what an aggregation, or a client for it, keeps from round to round."""


class Aggregation(Component):
    """Makes new weights from the updates of a round.

    A rule has settings but no memory of its own: what it keeps from round to round is the state that ``step`` returns.
    The order of clients does not matter: the server sorts updates by name.

    Attributes:
        lr: Learning rate of the server, which multiplies the direction; 1 replaces the weights by the mean of those of
            the clients.
        is_mean: Whether the direction is the mean of the updates, so that it can be made private.
        has_client_state: Whether clients keep something from round to round.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.federated.Aggregation.registry.names()[:3]
        ['fedadagrad', 'fedadam', 'fedavg']
        >>> nd.federated.Aggregation.from_dict({"name": "trimmed_mean", "fraction": 0.1})
        TrimmedMean(fraction=0.1)
    """

    registry: ClassVar[Registry] = Registry("aggregation", "neuro_divergent.federated.aggregation")
    is_mean: ClassVar[bool] = True
    has_client_state: ClassVar[bool] = False

    lr: float = Field(default=1.0, gt=0)

    def init_state(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the state before the first round."""
        return {}

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        """Return the direction to go from the updates of a round.

        Args:
            deltas: Updates, ``(clients, weights)``.
            weights: How much each counts, ``(clients,)``; they add up to 1.
        """
        return weights @ deltas

    def step(
        self, start: Tensor, direction: Tensor, state: Vectors, *, scale: float = 1.0
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the new weights and the new state.

        Args:
            start: The weights of the round.
            direction: What ``combine`` returned.
            state: The state before the round.
            scale: What the learning rate is multiplied with in this round.
        """
        return start + scale * self.lr * direction, dict(state)

    def to_clients(self, state: Vectors) -> dict[str, Tensor]:
        """Return what clients are sent besides the weights."""
        return {}

    def from_clients(self, messages: Sequence[Vectors], num_clients: int, state: Vectors) -> dict[str, Tensor]:
        """Return the state with what clients sent besides their updates.

        Args:
            messages: Of the clients of a round.
            num_clients: Clients of the federation.
            state: The state after ``step``.
        """
        return dict(state)

    def check_training(self, training: TrainingConfig) -> None:
        """Refuse settings of training with which the rule is not what its paper says.

        Raises:
            ConfigError: If there is one.
        """

    def local_names(self, network: nn.Module) -> set[str]:
        """Return the names of the tensors of a network that stay with each client."""
        return set()

    def transforms(
        self, start: Mapping[str, Tensor], received: Mapping[str, Mapping[str, Tensor]]
    ) -> list[GradientTransform]:
        """Return what is done to the gradients of a client.

        Args:
            start: The shared weights of the round, by name.
            received: Vectors from the server and of the client itself, each by name and taken apart by tensor.
        """
        return []

    def finish_client(
        self, delta: Tensor, steps: int, lr: float, received: Vectors, kept: Vectors
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return what a client sends besides its update, and what it keeps for its next round.

        Args:
            delta: How training changed the weights.
            steps: Optimizer steps of the round.
            lr: Learning rate of the client in this round.
            received: What the server sent.
            kept: What the client kept before.
        """
        return {}, {}
