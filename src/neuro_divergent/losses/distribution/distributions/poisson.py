"""The Poisson law with quantiles."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Poisson

from neuro_divergent.losses.distribution.distributions.solve import special
from neuro_divergent.losses.distribution.distributions.whole import WholeLaw


class PoissonLaw(WholeLaw, Poisson):
    """Adds to torch's law its ``cdf`` and quantiles."""

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a whole number or less."""
        from scipy.special import gammaincc

        return special(gammaincc, value + 1, self.rate)
