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
    """Poisson distribution of counts, whose variance is its mean; the output is the mean, by ``Units.level``."""

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import PoissonDistribution

        return PoissonDistribution(units.level(raw[..., 0]), validate_args=False)
