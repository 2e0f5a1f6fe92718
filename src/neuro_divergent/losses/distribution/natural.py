"""Distributions that only exist in the units of the data: of amounts, of proportions, of counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.errors import DataError
from neuro_divergent.losses.base import LossTraits
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.units import Units

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution


class NaturalLoss(DistributionLoss):
    """A distribution in the units of the data, whose targets are brought back there first.

    Attributes:
        accepts: What targets can be, for messages.
    """

    traits: ClassVar[LossTraits] = replace(DistributionLoss.traits, requires_original_scale=True)
    accepts: ClassVar[str]

    def cost(self, distribution: Distribution, target: Tensor, units: Units) -> Tensor:
        likelihood: Tensor = distribution.log_prob(self.admit(units.restore(target), units))
        return -likelihood

    @abstractmethod
    def admit(self, target: Tensor, units: Units) -> Tensor:
        """Return targets as values that the distribution can take, without the rounding errors of scaling.

        Raises:
            DataError: If one is no such value; on another device than the CPU, where looking would make it wait for all
                work before, such a target is moved to the nearest possible value instead.
        """

    def refuse(self, target: Tensor, wrong: Tensor) -> None:
        """Raise if a target is wrong and looking is cheap."""
        if target.device.type == "cpu" and bool(wrong.any()):
            raise DataError(
                f"{self.name}: target {target[wrong][0].item():g} is not possible: targets must be {self.accepts}. "
                "Use another loss, such as normal or student_t, for values of any kind."
            )


class CountLoss(NaturalLoss):
    """A distribution of counts. Targets are rounded to integers, since scaling leaves rounding errors."""

    traits: ClassVar[LossTraits] = replace(NaturalLoss.traits, integer_valued=True)
    accepts: ClassVar[str] = "counts (0, 1, 2, ...)"

    def admit(self, target: Tensor, units: Units) -> Tensor:
        whole = target.round()
        # The last digits of 32 bits are larger than 1 where counts are in the tens of millions.
        self.refuse(target, whole < -1e-6 * units.size)
        return whole.clamp_min(0)
