"""The Bernoulli distribution with quantiles."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Bernoulli


class BernoulliDistribution(Bernoulli):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    def cdf(self, value: Tensor) -> Tensor:
        none = self.logits.neg().sigmoid()
        return none.where(value < 1, 1).where(value >= 0, 0)

    def icdf(self, value: Tensor) -> Tensor:
        return (value > self.logits.neg().sigmoid()).to(value.dtype) + 0 * self.logits
