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
    """Several distributions of one family, each for a share of the time.

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
        """Share and parameters of each component."""
        return self.per_component * self.components


@register("gaussian_mixture")
class GaussianMixture(Mixture):
    """Several normal distributions, each for a share of the time: for values with more than one usual level.

    The outputs are the logits of the shares, the means, and the standard deviations, made positive. Outputs of 0 are
    means between -1 and 1, so that the components do not begin as one.
    """

    per_component: ClassVar[int] = 3

    def law(self, raw: Tensor, units: Units) -> Distribution:
        """Return the distribution on the scale of the network."""
        from torch import distributions

        from neuro_divergent.losses.distribution.distributions.mixture import GaussianMixtureLaw

        del units
        share, mean, spread = raw.chunk(3, dim=-1)
        return GaussianMixtureLaw.of(share, distributions.Normal(_apart(mean), positive(spread), validate_args=False))


@register("poisson_mixture")
class PoissonMixture(Mixture, CountLoss):
    """Several Poisson distributions, each for a share of the time: for counts with more than one usual level.

    The outputs are the means, by ``Units.level``, and the logits of the shares. Outputs of 0 are means on several
    levels, so that the components do not begin as one.
    """

    per_component: ClassVar[int] = 2

    def law(self, raw: Tensor, units: Units) -> Distribution:
        """Return the distribution in the units of the data."""
        from neuro_divergent.losses.distribution.distributions.mixture import WholeMixtureLaw
        from neuro_divergent.losses.distribution.distributions.poisson import PoissonLaw

        mean, share = raw.chunk(2, dim=-1)
        return WholeMixtureLaw.of(share, PoissonLaw(_per_component(units).level(_apart(mean)), validate_args=False))


@register("negative_binomial_mixture")
class NegativeBinomialMixture(Mixture, CountLoss):
    """Several negative binomial distributions, each for a share of the time.

    The outputs are the logits of the shares, the means, by ``Units.level``, and the dispersions, made positive. Outputs
    of 0 are means on several levels, so that the components do not begin as one.
    """

    per_component: ClassVar[int] = 3

    def law(self, raw: Tensor, units: Units) -> Distribution:
        """Return the distribution in the units of the data."""
        from neuro_divergent.losses.distribution.distributions.mixture import WholeMixtureLaw
        from neuro_divergent.losses.distribution.distributions.negative_binomial import NegativeBinomialLaw

        share, mean, dispersion = raw.chunk(3, dim=-1)
        means = _per_component(units).level(_apart(mean))
        return WholeMixtureLaw.of(share, NegativeBinomialLaw.of(means, positive(dispersion)))


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
