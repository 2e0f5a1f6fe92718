"""The Tweedie distribution between Poisson and gamma."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.base import LossTraits
from neuro_divergent.losses.distribution.natural import NaturalLoss
from neuro_divergent.losses.distribution.units import Units, positive

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution

_ROUNDING = 1e-3  # fraction of the size of a window that a value may lie below zero by rounding
_ZERO = 1e-5  # fraction of the size of a window below which a value is a zero with a rounding error


@register("tweedie")
class Tweedie(NaturalLoss):
    """Tweedie distribution: a Poisson number of gamma distributed amounts, so zeros and positive amounts in one.

    Its variance is ``dispersion * mean ** power``. The first output is the mean, by ``Units.level``. The second, made
    positive, is the dispersion in units of ``scale ** 2 / (|loc| + scale) ** power``, with which a mean as large as the
    values of the window has the spread of the window. Targets below a hundred thousandth of the size of their window
    count as zeros.

    Attributes:
        power: From near 1, almost Poisson, to near 2, almost gamma.

    Examples:
        With mean and dispersion 1 a value is zero with the probability ``exp(-2)``, or 0.135:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss, outputs = nd.losses.Tweedie(power=1.5), torch.full((1, 1, 1, 2), 0.5413)
        >>> round(loss.elementwise(outputs, torch.zeros(1, 1, 1)).item(), 2)
        2.0
        >>> loss.forecast(outputs, levels=(0.1,)).quantiles.item()
        0.0
    """

    traits: ClassVar[LossTraits] = replace(
        NaturalLoss.traits,
        quantiles_not_exported="ONNX has no incomplete gamma function, of which a probability is a sum without bound",
    )
    accepts: ClassVar[str] = "zero or positive"
    outputs: ClassVar[int] = 2

    power: float = knob(1.5, low=1.1, high=1.9, ge=1.01, le=1.99)

    def __init__(self, power: float = 1.5, **values: Any) -> None:
        super().__init__(**{"power": power, **values})

    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        from neuro_divergent.losses.distribution.distributions.tweedie import TweedieDistribution

        dispersion = positive(raw[..., 1]) * units.scale.square() / units.size.pow(self.power)
        return TweedieDistribution(units.level(raw[..., 0]), dispersion, self.power)

    def admit(self, target: Tensor, units: Units) -> Tensor:
        self.refuse(target, target < -_ROUNDING * units.size)
        return target.where(~(target < _ZERO * units.size), 0)
