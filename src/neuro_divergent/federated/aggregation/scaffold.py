"""Averaging with control variates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.federated.aggregation.base import Aggregation, Vectors
from neuro_divergent.federated.client_gradients import AddedGradient

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.training.config import TrainingConfig
    from neuro_divergent.training.gradients.transforms.base import GradientTransform

_CONTROL = "control"


@register("scaffold")
class Scaffold(Aggregation):
    """Corrects the drift of clients with different data by control variates (Karimireddy et al., 2020).

    Every client keeps a mean of its own gradients, and the server one of all clients; each step of a client is
    corrected by their difference. The mean of a round is the change of weights over steps and learning rate (option II
    of the paper), which is a mean of gradients for plain SGD only. Every client counts equally.

    Examples:
        >>> import neuro_divergent as nd
        >>> plain = nd.TrainingConfig(optimizer=nd.optimizers.SGD(lr=0.05, momentum=0))
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, input_size=24, training=plain)
        >>> nd.federated.Federation(forecaster, aggregation=nd.federated.Scaffold()).settings.aggregation
        Scaffold()
        >>> adam = nd.Forecaster("nlinear", horizon=12, input_size=24)
        >>> nd.federated.Federation(adam, aggregation="scaffold")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: aggregation: scaffold needs plain SGD on the clients, without ...
    """

    is_mean: ClassVar[bool] = False  # clients send more than the update, so that a bound on its norm proves nothing
    has_client_state: ClassVar[bool] = True

    def init_state(self, weights: Tensor) -> dict[str, Tensor]:
        import torch

        return {_CONTROL: torch.zeros_like(weights)}

    def combine(self, deltas: Tensor, weights: Tensor) -> Tensor:
        return deltas.mean(dim=0)

    def to_clients(self, state: Vectors) -> dict[str, Tensor]:
        return {_CONTROL: state[_CONTROL]}

    def from_clients(self, messages: Sequence[Vectors], num_clients: int, state: Vectors) -> dict[str, Tensor]:
        import torch

        changes = torch.stack([message[_CONTROL] for message in messages])
        return {**state, _CONTROL: state[_CONTROL] + changes.sum(dim=0) / num_clients}

    def check_training(self, training: TrainingConfig) -> None:
        settings = training.optimizer.to_dict()
        if settings["name"] != "sgd" or settings.get("momentum") or settings.get("weight_decay"):
            raise ConfigError(
                "aggregation: scaffold needs plain SGD on the clients, without momentum and weight decay: its control "
                "variates are means of gradients. Set training.optimizer to nd.optimizers.SGD(lr=..., momentum=0), or "
                'choose "fedprox".'
            )

    def transforms(
        self, start: Mapping[str, Tensor], received: Mapping[str, Mapping[str, Tensor]]
    ) -> list[GradientTransform]:
        ours, own = received[_CONTROL], received.get(f"own_{_CONTROL}")
        return [AddedGradient(added={name: ours[name] - (own[name] if own else 0) for name in ours})]

    def finish_client(
        self, delta: Tensor, steps: int, lr: float, received: Vectors, kept: Vectors
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        import torch

        before = kept.get(_CONTROL, torch.zeros_like(delta))
        change = -received[_CONTROL] - delta / (steps * lr)
        return {_CONTROL: change}, {_CONTROL: before + change}
