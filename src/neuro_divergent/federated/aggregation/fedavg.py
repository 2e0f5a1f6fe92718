"""Federated averaging."""

from __future__ import annotations

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation


@register("fedavg")
class FedAvg(Aggregation):
    """Takes the mean of the weights of the clients (McMahan et al., 2017).

    With one step of gradient descent per round on all windows, it is gradient descent on the windows of all clients.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> updates, sizes = torch.tensor([[1.0, 0.0], [3.0, 4.0]]), torch.tensor([0.25, 0.75])
        >>> nd.federated.FedAvg().combine(updates, sizes).tolist()
        [2.5, 3.0]
    """
