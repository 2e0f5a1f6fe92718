"""Mixtures of several distributions of one family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.natural import CountLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


class Mixture(DistributionLoss):
    """Several distributions of one family, each with a weight.

    Attributes:
        components: How many there are.
        per_component: Outputs for each.
    """

    per_component: ClassVar[int]

    components: int = knob(3, low=2, high=10, ge=1, le=100)

    def __init__(self, components: int = 3, **values: Any) -> None:
        super().__init__(**{"components": components, **values})

    @property
    def outputs(self) -> int:
        return self.per_component * self.components


@register("gaussian_mixture")
class GaussianMixture(Mixture):
    """Several normal distributions, each with a weight: for values with more than one usual level.

    The outputs are the logits of the weights, the means, and the standard deviations, made positive. Outputs of 0 are
    means between -1 and 1, so that the components do not begin as one.

    Examples:
        The mean of two usual levels is a value that hardly ever occurs; the quantiles show both:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[0.0, 0.0, 19.0, 39.0, 0.0, 0.0]]]])  # equal weights, and means near 20 and 40
        >>> forecast = nd.losses.GaussianMixture(2).forecast(outputs, levels=(0.25, 0.75))
        >>> round(forecast.point.item(), 2), [round(quantile, 2) for quantile in forecast.quantiles.flatten().tolist()]
        (29.0, [18.0, 40.0])
    """

    per_component: ClassVar[int] = 3

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from torch import distributions

        from neuro_divergent.losses.distribution.distributions.mixture import GaussianMixtureDistribution

        weight, mean, spread = raw.chunk(3, dim=-1)
        components = distributions.Normal(_apart(mean), positive(spread), validate_args=False)
        return GaussianMixtureDistribution.of(weight, components)


@register("poisson_mixture")
class PoissonMixture(Mixture, CountLoss):
    """Several Poisson distributions, each with a weight: for counts with more than one usual level.

    The outputs are the means, by ``Units.level``, and the logits of the weights. Outputs of 0 are means on several
    levels, so that the components do not begin as one.

    Examples:
        Days with about 5 sales and days with about 60 are equally frequent:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[6.0, 59.0, 0.0, 0.0]]]])  # means near 5 and 60, and equal weights
        >>> forecast = nd.losses.PoissonMixture(2).forecast(outputs, levels=(0.25, 0.75))
        >>> round(forecast.point.item(), 1), forecast.quantiles.flatten().tolist()
        (32.5, [5.0, 60.0])
    """

    per_component: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import PoissonDistribution
        from neuro_divergent.losses.distribution.distributions.mixture import CountMixtureDistribution

        mean, weight = raw.chunk(2, dim=-1)
        components = PoissonDistribution(_per_component(units).level(_apart(mean)), validate_args=False)
        return CountMixtureDistribution.of(weight, components)


@register("negative_binomial_mixture")
class NegativeBinomialMixture(Mixture, CountLoss):
    """Several negative binomial distributions, each with a weight.

    The outputs are the logits of the weights, the means, by ``Units.level``, and the dispersions, made positive.
    Outputs of 0 are means on several levels, so that the components do not begin as one.

    Examples:
        Days with about 5 sales and days with about 60 are equally frequent, and both vary a lot:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[0.0, 0.0, 6.0, 59.0, 0.5413, 0.5413]]]])  # weights, means and dispersions
        >>> forecast = nd.losses.NegativeBinomialMixture(2).forecast(outputs, levels=(0.25, 0.9))
        >>> round(forecast.point.item(), 1), forecast.quantiles.flatten().tolist()
        (32.5, [3.0, 97.0])
    """

    per_component: ClassVar[int] = 3

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.count import NegativeBinomialDistribution
        from neuro_divergent.losses.distribution.distributions.mixture import CountMixtureDistribution

        weight, mean, dispersion = raw.chunk(3, dim=-1)
        means = _per_component(units).level(_apart(mean))
        return CountMixtureDistribution.of(weight, NegativeBinomialDistribution.of(means, positive(dispersion)))


def _apart(mean: Tensor) -> Tensor:
    """Move the components away from each other: those with the same parameters would stay the same for ever."""
    import torch

    count = mean.shape[-1]
    if count == 1:
        return mean
    return mean + torch.linspace(-1, 1, count, dtype=mean.dtype, device=mean.device)


def _per_component(units: Units) -> Units:
    """Return units that broadcast against a last axis of components."""
    return Units(units.loc.unsqueeze(-1), units.scale.unsqueeze(-1))
