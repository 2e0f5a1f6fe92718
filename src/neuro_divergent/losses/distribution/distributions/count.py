"""Distributions of counts with quantiles."""

from __future__ import annotations

from typing import Self

from torch import Tensor
from torch.distributions import Distribution, NegativeBinomial, Poisson

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.losses.distribution.distributions import traced
from neuro_divergent.losses.distribution.distributions.solve import smallest_integer, special


class CountDistribution(Distribution):
    """A distribution of the numbers 0, 1, 2, ... with a ``cdf`` of integers, a ``mean`` and a ``variance``."""

    def icdf(self, value: Tensor) -> Tensor:
        if is_exporting():
            return traced.smallest_integer(self.cdf, value, self.mean, self.variance)
        from scipy.special import gammaincinv

        # The gamma distribution of the same mean and variance has nearly the same quantiles.
        scale = self.variance / self.mean
        return smallest_integer(self.cdf, value, scale * special(gammaincinv, self.mean / scale, value))


class PoissonDistribution(CountDistribution, Poisson):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    def cdf(self, value: Tensor) -> Tensor:
        if is_exporting():
            return traced.poisson_cdf(value, self.rate)
        from scipy.special import gammaincc

        return special(gammaincc, value + 1, self.rate)


class NegativeBinomialDistribution(CountDistribution, NegativeBinomial):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    @classmethod
    def of(cls, mean: Tensor, dispersion: Tensor) -> Self:
        """Make it from its mean and from the part of its variance that grows with the square of the mean."""
        return cls(1 / dispersion, logits=mean.log() + dispersion.log(), validate_args=False)

    def cdf(self, value: Tensor) -> Tensor:
        if is_exporting():
            return traced.negative_binomial_cdf(value, self.total_count, self.mean)
        from scipy.special import betainc

        return special(betainc, self.total_count, value + 1, self.logits.neg().sigmoid())
