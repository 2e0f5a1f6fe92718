"""Distributions of counts with more zeros than they would have by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.natural import CountLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("zero_inflated_poisson")
class ZeroInflatedPoisson(CountLoss):
    """Poisson distribution that a share of the time gives zero instead.

    The outputs are the mean of the Poisson distribution, by ``Units.level``, and the logit of that share.
    """

    @property
    def outputs(self) -> int:
        """Mean and share of zeros."""
        return 2

    def law(self, raw: Tensor, units: Units) -> Distribution:
        """Return the distribution in the units of the data."""
        from neuro_divergent.losses.distribution.distributions.poisson import PoissonLaw
        from neuro_divergent.losses.distribution.distributions.zero_inflated import ZeroInflatedLaw

        return ZeroInflatedLaw(PoissonLaw(units.level(raw[..., 0]), validate_args=False), raw[..., 1])


@register("zero_inflated_negative_binomial")
class ZeroInflatedNegativeBinomial(CountLoss):
    """Negative binomial distribution that a share of the time gives zero instead.

    The outputs are the logit of that share, the mean of the negative binomial distribution, by ``Units.level``, and its
    dispersion, made positive.
    """

    @property
    def outputs(self) -> int:
        """Share of zeros, mean and dispersion."""
        return 3

    def law(self, raw: Tensor, units: Units) -> Distribution:
        """Return the distribution in the units of the data."""
        from neuro_divergent.losses.distribution.distributions.negative_binomial import NegativeBinomialLaw
        from neuro_divergent.losses.distribution.distributions.zero_inflated import ZeroInflatedLaw

        counts = NegativeBinomialLaw.of(units.level(raw[..., 1]), positive(raw[..., 2]))
        return ZeroInflatedLaw(counts, raw[..., 0])
