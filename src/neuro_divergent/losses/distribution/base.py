"""What every loss of a distribution is: outputs that are parameters, and the likelihood of the target under them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from neuro_divergent.losses.base import Forecast, Loss, LossTraits
from neuro_divergent.losses.distribution.units import Units, precise

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution

    from neuro_divergent.core.spec import Batch

_EDGE = 1e-10  # probabilities of 0 and 1 would be values without end


class DistributionLoss(Loss):
    """Minus the logarithm of the likelihood of the target, in the units of the data.

    The outputs of a step are parameters of a distribution. A family on the scale of the network, such as the normal
    one, adds the logarithm of the factor between the scales to its cost, so that costs are likelihoods in the units of
    the data whatever the scaler is; it changes no gradient. Likelihoods and quantiles are worked out in 64 bits.

    Attributes:
        point: What the point forecast is.

    Examples:
        Any quantile can be forecast, and the point is the mean unless the median is asked for:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> outputs = torch.tensor([[[[20.0, 0.5413]]]])  # a median of 20, and 1 for the deviation of the logarithm
        >>> mean, median = nd.losses.LogNormal(), nd.losses.LogNormal(point="median")
        >>> round(mean.forecast(outputs).point.item(), 1), round(median.forecast(outputs).point.item(), 1)
        (33.0, 20.0)
    """

    traits: ClassVar[LossTraits] = LossTraits(probabilistic=True, any_level=True, point_valued=False)

    point: Literal["mean", "median"] = "mean"

    @abstractmethod
    def make_distribution(self, raw: Tensor, units: Units) -> Distribution:
        """Return the distribution for outputs ``(..., outputs)``; it has ``log_prob``, ``mean``, ``cdf`` and ``icdf``.

        Families in the units of the data use ``units``; the others are on the scale of the network.
        """

    def distribution(self, raw: Tensor, batch: Batch | None = None) -> Distribution:
        """Return the distribution of each value, ``(batch, horizon, channel)``.

        It is in the units of the data where ``requires_original_scale`` is set, else on the scale of the network.
        """
        return self.make_distribution(precise(raw), Units.of(batch, raw))

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        import torch

        units = Units.of(batch, raw)
        distribution = self.make_distribution(precise(self.arrange(raw, target)), units)
        return self.cost(distribution, precise(target), units).to(torch.promote_types(raw.dtype, torch.float32))

    def cost(self, distribution: Distribution, target: Tensor, units: Units) -> Tensor:
        """Return the cost of targets that are on the scale of the network."""
        likelihood: Tensor = distribution.log_prob(target)
        return units.scale.log() - likelihood

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        wanted = (*((0.5,) if self.point == "median" else ()), *levels)
        values = None
        if wanted:
            probabilities = precise(raw.new_tensor(wanted)).reshape(-1, *(1,) * (raw.ndim - 1))
            values = self.inverse(raw, probabilities, batch).movedim(0, -1)
        if self.point == "median":
            assert values is not None
            return Forecast(values[..., 0], values[..., 1:] if levels else None)
        mean = self._on_scale_of_network(self.distribution(raw, batch).mean, Units.of(batch, raw))
        return Forecast(mean.to(raw.dtype), values)

    def inverse(self, raw: Tensor, probability: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the values of the quantile function (inverse CDF) at some probabilities, on the scale of the network.

        No gradient flows back through them. A probability of 0 or 1 is moved inwards by a ten billionth, so that every
        value is finite.
        """
        import torch

        with torch.no_grad():
            distribution = self.distribution(raw, batch)
            values = distribution.icdf(precise(probability).clamp(_EDGE, 1 - _EDGE))
            return self._on_scale_of_network(values, Units.of(batch, raw)).to(raw.dtype)

    def _on_scale_of_network(self, values: Tensor, units: Units) -> Tensor:
        return units.rescale(values) if self.traits.requires_original_scale else values
