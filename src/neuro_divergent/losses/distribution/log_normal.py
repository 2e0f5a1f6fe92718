"""The log-normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.distribution.natural import NaturalLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution

_LEAST = 1e-6  # fraction of the size of a window that stands for zero
_ROUNDING = 1e-3  # fraction of the size of a window that a value may lie below zero by rounding


@register("log_normal")
class LogNormal(NaturalLoss):
    """Log-normal distribution, for positive amounts whose errors are factors.

    The first output is the median, by ``Units.level``. The second, made positive, is the standard deviation of the
    logarithm in units of that which the spread of the window suggests, ``scale / (|loc| + scale)``.

    A target of zero is not possible and counts as a millionth of the size of its window; it is costly. Use tweedie for
    amounts that often are zero.

    Examples:
        A quantile lies as many times above the median as its counterpart lies below:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[20.0, 0.5413]]]])  # median 20, and 1 for the deviation of the logarithm
        >>> quantiles = nd.losses.LogNormal().forecast(outputs, levels=(0.1, 0.5, 0.9)).quantiles
        >>> [round(quantile, 1) for quantile in quantiles.flatten().tolist()]
        [5.6, 20.0, 72.0]
    """

    accepts: ClassVar[str] = "positive"
    outputs: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from torch import distributions

        spread = positive(raw[..., 1]) * units.scale / units.size
        return distributions.LogNormal(units.level(raw[..., 0]).log(), spread, validate_args=False)

    def admit(self, target: Tensor, units: Units) -> Tensor:
        self.refuse(target, target < -_ROUNDING * units.size)
        return target.maximum(_LEAST * units.size)
