"""The beta distribution with quantiles."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Beta

from neuro_divergent.losses.distribution.distributions.solve import special


class BetaDistribution(Beta):
    """Adds to torch's distribution its ``cdf`` and quantiles."""

    def cdf(self, value: Tensor) -> Tensor:
        from scipy.special import betainc

        return special(betainc, self.concentration1, self.concentration0, value)

    def icdf(self, value: Tensor) -> Tensor:
        from scipy.special import betaincinv

        return special(betaincinv, self.concentration1, self.concentration0, value)
