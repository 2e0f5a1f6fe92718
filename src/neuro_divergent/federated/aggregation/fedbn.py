"""Averaging of all but batch normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.base import Aggregation

if TYPE_CHECKING:
    from torch import nn


@register("fedbn")
class FedBN(Aggregation):
    """Federated averaging in which the batch normalisation of each client stays its own (Li et al., 2021).

    Gains, shifts and running statistics of these layers never leave a client. A client that joins later starts with
    those of the new network.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2))
        >>> sorted(nd.federated.FedBN().local_names(network))
        ['1.bias', '1.num_batches_tracked', '1.running_mean', '1.running_var', '1.weight']
    """

    has_client_state: ClassVar[bool] = True

    def local_names(self, network: nn.Module) -> set[str]:
        from neuro_divergent.federated.weight_layout import norm_tensors

        return norm_tensors(network)
