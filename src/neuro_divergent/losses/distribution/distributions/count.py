"""Distributions of integers."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Distribution

from neuro_divergent.losses.distribution.distributions.solve import smallest_integer, special


class CountDistribution(Distribution):
    """A distribution of the numbers 0, 1, 2, ... with a ``cdf`` of integers, a ``mean`` and a ``variance``."""

    def icdf(self, value: Tensor) -> Tensor:
        from scipy.special import gammaincinv

        # The gamma distribution of the same mean and variance has nearly the same quantiles.
        scale = self.variance / self.mean
        return smallest_integer(self.cdf, value, scale * special(gammaincinv, self.mean / scale, value))
