"""The negative binomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.natural import CountLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("negative_binomial")
class NegativeBinomial(CountLoss):
    """Negative binomial distribution of counts that vary more than Poisson ones: ``mean + dispersion * mean ** 2``.

    The outputs are the mean, by ``Units.level``, and the dispersion, made positive.

    Examples:
        With a mean of 20 and a dispersion of 1 the variance is ``20 + 20 ** 2``; a Poisson distribution would have an
        interval from 14 to 26:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[20.0, 0.5413]]]])
        >>> nd.losses.NegativeBinomial().forecast(outputs, levels=(0.1, 0.9)).quantiles.flatten().tolist()
        [2.0, 47.0]
    """

    outputs: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import NegativeBinomialDistribution

        return NegativeBinomialDistribution.of(units.level(raw[..., 0]), positive(raw[..., 1]))
