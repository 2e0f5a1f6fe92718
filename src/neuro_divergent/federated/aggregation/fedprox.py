"""Federated averaging of clients that are held back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation
from neuro_divergent.federated.client_gradients import PullToStart

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.training.gradients.transforms.base import GradientTransform


@register("fedprox")
class FedProx(Aggregation):
    """Adds ``mu / 2 * |w - w_round|^2`` to the loss of each client, and takes the mean (Li et al., 2020).

    For clients with very different data, which go far apart within a round.

    Attributes:
        mu: Strength of the pull towards the weights that the round started from; 0 is federated averaging.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=7, input_size=14)
        >>> federation = nd.federated.Federation(forecaster, aggregation=nd.federated.FedProx(mu=0.1))
        >>> federation.settings.aggregation
        FedProx(mu=0.1)
        >>> nd.federated.FederationSettings(aggregation="fedprox").aggregation.mu
        0.01
    """

    mu: float = Field(default=0.01, ge=0)

    def transforms(
        self, start: Mapping[str, Tensor], received: Mapping[str, Mapping[str, Tensor]]
    ) -> list[GradientTransform]:
        return [PullToStart(mu=self.mu, start=dict(start))] if self.mu else []
