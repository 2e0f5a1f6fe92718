"""The Bernoulli distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import LossTraits
from neuro_divergent.losses.distribution.natural import NaturalLoss
from neuro_divergent.losses.distribution.units import Units

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


@register("bernoulli")
class Bernoulli(NaturalLoss):
    """Bernoulli distribution, for values that are 0 or 1; the point forecast is the probability of 1.

    The output is that probability, by ``Units.proportion``. Targets are rounded, since scaling leaves rounding errors.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss, outputs = nd.losses.Bernoulli(), torch.full((2, 1, 1, 1), 2.0)
        >>> round(loss.forecast(outputs[:1]).point.item(), 3)  # the probability of a 1
        0.814
        >>> costs = loss.elementwise(outputs, torch.tensor([1.0, 0.0]).view(2, 1, 1))
        >>> [round(cost, 3) for cost in costs.flatten().tolist()]  # minus the logarithms of 0.814 and 0.186
        [0.206, 1.68]
    """

    traits: ClassVar[LossTraits] = replace(NaturalLoss.traits, integer_valued=True)
    accepts: ClassVar[str] = "0 or 1"

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.bernoulli import BernoulliDistribution

        proportion, rest = units.proportion(raw[..., 0])
        return BernoulliDistribution(logits=proportion.log() - rest.log(), validate_args=False)

    def admit(self, target: Tensor, units: Units) -> Tensor:
        whole = target.round()
        self.refuse(target, (whole < 0) | (whole > 1))
        return whole.clamp(0, 1)
