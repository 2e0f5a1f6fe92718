"""The Poisson distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.natural import CountLoss
from neuro_divergent.losses.distribution.units import Units

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("poisson")
class Poisson(CountLoss):
    """Poisson distribution of counts, whose variance is its mean; the output is the mean, by ``Units.level``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.full((1, 1, 1, 1), 20.0)  # a mean of 20
        >>> nd.losses.Poisson().forecast(outputs, levels=(0.1, 0.9)).quantiles.flatten().tolist()  # counts
        [14.0, 26.0]
    """

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import PoissonDistribution

        return PoissonDistribution(units.level(raw[..., 0]), validate_args=False)
