"""The beta distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import LossTraits
from neuro_divergent.losses.distribution.natural import NaturalLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution

_EDGE = 1e-6  # nearest that a target can come to 0 and 1
_ROUNDING = 1e-3  # how far a target may lie outside by rounding


@register("beta")
class Beta(NaturalLoss):
    """Beta distribution, for proportions between 0 and 1.

    The first output is the mean, by ``Units.proportion``. The second, made positive, is the sum of the two parameters
    in units of ``1 + 1 / (4 * scale ** 2)``, which follows the spread of the window. Targets of 0 and 1 are moved
    inwards by a millionth.

    Examples:
        The quantiles of a proportion stay between 0 and 1, however wide the distribution is:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[0.5, 0.5413]]], [[[0.5, 20.0]]]])  # mean one half, little and much concentration
        >>> quantiles = nd.losses.Beta().forecast(outputs, levels=(0.1, 0.9)).quantiles
        >>> [[round(quantile, 2) for quantile in row] for row in quantiles.view(2, 2).tolist()]
        [[0.04, 0.96], [0.37, 0.63]]
    """

    traits: ClassVar[LossTraits] = replace(
        NaturalLoss.traits,
        quantiles_not_exported="ONNX has no incomplete beta function, and its integral has poles at both ends",
    )
    accepts: ClassVar[str] = "between 0 and 1"
    outputs: ClassVar[int] = 2

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.beta import BetaDistribution

        proportion, rest = units.proportion(raw[..., 0])
        concentration = positive(raw[..., 1]) * (1 + 0.25 / units.scale.square())
        return BetaDistribution(proportion * concentration, rest * concentration, validate_args=False)

    def admit(self, target: Tensor, units: Units) -> Tensor:
        self.refuse(target, (target < -_ROUNDING) | (target > 1 + _ROUNDING))
        return target.clamp(_EDGE, 1 - _EDGE)
