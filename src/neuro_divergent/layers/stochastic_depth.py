"""Stochastic depth: residual branches dropped in training."""

from __future__ import annotations

from torch import Tensor, nn


class StochasticDepth(nn.Module):
    """Sets a residual branch to zero for a random part of the rows, and scales it up for the others.

    Huang et al., "Deep Networks with Stochastic Depth", ECCV 2016. They shrink branches when forecasting; growing them
    in training instead gives the same expectation, and evaluation is unchanged.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, branch: Tensor) -> Tensor:
        return branch * kept_rows(branch, self.rate) if self.training and self.rate else branch

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def kept_rows(branch: Tensor, rate: float) -> Tensor:
    """Draw the factor of each row, ``(row, 1, ...)``: 0 with a chance of ``rate``, else ``1 / (1 - rate)``."""
    kept = branch.new_empty(branch.shape[0], *(1,) * (branch.ndim - 1)).bernoulli_(1 - rate)
    return kept.div_(1 - rate)


def growing_rates(last: float, branches: int) -> list[float]:
    """Return a rate for each branch that grows linearly with depth up to ``last``; early branches matter most."""
    return [last * (index + 1) / branches for index in range(branches)]
