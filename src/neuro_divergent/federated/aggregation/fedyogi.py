"""Yogi at the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.federated.aggregation.adaptive import Adaptive

if TYPE_CHECKING:
    from torch import Tensor


@register("fedyogi")
class FedYogi(Adaptive):
    """Yogi on the mean update (Reddi et al., 2021): its running size changes by at most the new squares.

    Attributes:
        beta2: Decay of the running size.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> before, squares = torch.tensor([1.0]), torch.tensor([1e-4])
        >>> nd.federated.FedAdam(beta2=0.9).second_moment(before, squares).item() < 0.901
        True
        >>> round(nd.federated.FedYogi(beta2=0.9).second_moment(before, squares).item(), 5)
        0.99999
    """

    beta2: float = Field(default=0.99, ge=0, lt=1)

    def second_moment(self, before: Tensor, squares: Tensor) -> Tensor:
        return before - (1 - self.beta2) * squares * (before - squares).sign()
