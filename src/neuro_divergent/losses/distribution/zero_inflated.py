"""Distributions of counts with more zeros than they would have by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.natural import CountLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("zero_inflated_poisson")
class ZeroInflatedPoisson(CountLoss):
    """Poisson distribution that gives zero instead with some probability.

    The outputs are the mean of the Poisson distribution, by ``Units.level``, and the logit of that probability.

    Examples:
        Nothing is sold on half of the days, and about 20 on the others:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[20.0, 0.0]]]])  # the mean of the others, and the logit of one half
        >>> forecast = nd.losses.ZeroInflatedPoisson().forecast(outputs, levels=(0.4, 0.9))
        >>> round(forecast.point.item(), 3), forecast.quantiles.flatten().tolist()
        (10.0, [0.0, 24.0])
    """

    outputs: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import PoissonDistribution
        from neuro_divergent.losses.distribution.distributions.zero_inflated import ZeroInflatedDistribution

        return ZeroInflatedDistribution(PoissonDistribution(units.level(raw[..., 0]), validate_args=False), raw[..., 1])


@register("zero_inflated_negative_binomial")
class ZeroInflatedNegativeBinomial(CountLoss):
    """Negative binomial distribution that gives zero instead with some probability.

    The outputs are the logit of that probability, the mean of the negative binomial distribution, by ``Units.level``,
    and its dispersion, made positive.

    Examples:
        Nothing is sold on half of the days; how much on the others varies more than a Poisson distribution can say:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[0.0, 20.0, 0.5413]]]])  # the logit of one half, mean 20 and dispersion 1
        >>> forecast = nd.losses.ZeroInflatedNegativeBinomial().forecast(outputs, levels=(0.4, 0.95))
        >>> round(forecast.point.item(), 3), forecast.quantiles.flatten().tolist()
        (10.0, [0.0, 47.0])
    """

    outputs: ClassVar[int] = 3

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import NegativeBinomialDistribution
        from neuro_divergent.losses.distribution.distributions.zero_inflated import ZeroInflatedDistribution

        counts = NegativeBinomialDistribution.of(units.level(raw[..., 1]), positive(raw[..., 2]))
        return ZeroInflatedDistribution(counts, raw[..., 0])
