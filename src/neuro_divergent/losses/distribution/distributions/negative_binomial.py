"""The negative binomial distribution with quantiles."""

from __future__ import annotations

from typing import Self

from torch import Tensor
from torch.distributions import NegativeBinomial

from neuro_divergent.losses.distribution.distributions.count import CountDistribution
from neuro_divergent.losses.distribution.distributions.solve import special


class NegativeBinomialDistribution(CountDistribution, NegativeBinomial):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    @classmethod
    def of(cls, mean: Tensor, dispersion: Tensor) -> Self:
        """Make it from its mean and from the part of its variance that grows with the square of the mean."""
        return cls(1 / dispersion, logits=mean.log() + dispersion.log(), validate_args=False)

    def cdf(self, value: Tensor) -> Tensor:
        from scipy.special import betainc

        return special(betainc, self.total_count, value + 1, self.logits.neg().sigmoid())
