"""Federated averaging."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation


@register("fedavg")
class FedAvg(Aggregation):
    """Takes the mean of the weights of the clients (McMahan et al., 2017).

    With one step of gradient descent per round on all windows, it is gradient descent on the windows of all clients.
    """
