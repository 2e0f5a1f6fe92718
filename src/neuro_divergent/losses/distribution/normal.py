"""The normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("normal")
class Normal(DistributionLoss):
    """Normal distribution; the outputs are its mean and, made positive, its standard deviation.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[10.0, 0.5413]]]])  # 0.5413, made positive, is a standard deviation of 1
        >>> forecast = nd.losses.Normal().forecast(outputs, levels=(0.1, 0.9))
        >>> forecast.point.item(), [round(quantile, 2) for quantile in forecast.quantiles.flatten().tolist()]
        (10.0, [8.72, 11.28])
    """

    outputs: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from torch import distributions

        return distributions.Normal(raw[..., 0], positive(raw[..., 1]), validate_args=False)
