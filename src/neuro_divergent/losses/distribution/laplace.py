"""The Laplace distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("laplace")
class Laplace(DistributionLoss):
    """Laplace distribution, whose tails are heavier than normal ones; its likelihood is best at the median.

    The outputs are its mean, which is its median too, and, made positive, its mean absolute deviation.

    Examples:
        Of a thousand values one lies twice as far out as under a normal distribution with the same outputs:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[0.0, 0.5413]]]])  # mean 0 and spread 1
        >>> losses = nd.losses.Normal(), nd.losses.Laplace()
        >>> [round(loss.forecast(outputs, levels=(0.999,)).quantiles.item(), 2) for loss in losses]
        [3.09, 6.21]
    """

    outputs: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from torch import distributions

        return distributions.Laplace(raw[..., 0], positive(raw[..., 1]), validate_args=False)
