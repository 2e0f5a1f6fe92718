"""The Poisson distribution with quantiles."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Poisson

from neuro_divergent.losses.distribution.distributions.count import CountDistribution
from neuro_divergent.losses.distribution.distributions.solve import special


class PoissonDistribution(CountDistribution, Poisson):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    def cdf(self, value: Tensor) -> Tensor:
        from scipy.special import gammaincc

        return special(gammaincc, value + 1, self.rate)
