"""Adam at the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.adaptive import Adaptive

if TYPE_CHECKING:
    from torch import Tensor


@register("fedadam")
class FedAdam(Adaptive):
    """Adam on the mean update (Reddi et al., 2021).

    Attributes:
        beta2: Decay of the mean of squared updates.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> rule, start = nd.federated.FedAdam(lr=0.01), torch.zeros(2)
        >>> weights, state = rule.step(start, torch.tensor([1.0, 100.0]), rule.init_state(start))
        >>> [round(value, 3) for value in weights.tolist()]
        [0.01, 0.01]
    """

    beta2: float = Field(default=0.99, ge=0, lt=1)

    def second_moment(self, before: Tensor, squares: Tensor) -> Tensor:
        return self.beta2 * before + (1 - self.beta2) * squares
