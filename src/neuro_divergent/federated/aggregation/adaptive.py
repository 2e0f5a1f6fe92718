"""What servers with an adaptive step have in common (Reddi et al., 2021, Adaptive Federated Optimization)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.federated.aggregation.base import Aggregation, Vectors

if TYPE_CHECKING:
    from torch import Tensor


class Adaptive(Aggregation):
    """Treats the mean update as a gradient, and divides it by a running size of such updates.

    As in the paper there is no correction of the first rounds, and the second moment starts at ``tau`` squared.

    Attributes:
        lr: Learning rate of the server.
        beta1: Decay of the mean of past updates.
        tau: How adaptive it is: below this size of updates the step shrinks with them.
    """

    lr: float = Field(default=0.01, gt=0)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    tau: float = Field(default=1e-3, gt=0)

    def init_state(self, weights: Tensor) -> dict[str, Tensor]:
        import torch

        return {"first": torch.zeros_like(weights), "second": torch.full_like(weights, self.tau**2)}

    def step(
        self, start: Tensor, direction: Tensor, state: Vectors, *, scale: float = 1.0
    ) -> tuple[Tensor, dict[str, Tensor]]:
        first = self.beta1 * state["first"] + (1 - self.beta1) * direction
        second = self.second_moment(state["second"], direction.square())
        moved = start + scale * self.lr * first / (second.sqrt() + self.tau)
        return moved, {"first": first, "second": second}

    @abstractmethod
    def second_moment(self, before: Tensor, squares: Tensor) -> Tensor:
        """Return the running size of squared updates, with those of this round."""
