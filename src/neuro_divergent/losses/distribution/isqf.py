"""Incremental spline quantile functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.units import Units, positive
from neuro_divergent.losses.levels import check_levels, middle

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributions import Distribution

    from neuro_divergent.losses.distribution.distributions.spline import SplineDistribution


def _check_knots(levels: tuple[float, ...]) -> tuple[float, ...]:
    if len(levels) < 2:
        raise ValueError("must be at least two different numbers between 0 and 1")
    return tuple(sorted(check_levels(levels)))


@register("isqf")
class ISQF(DistributionLoss):
    """Incremental spline quantile function: a distribution of any shape, whose quantiles never cross.

    Park et al., "Learning Quantile Functions without Quantile Crossing for Distribution-free Time Series Forecasting",
    AISTATS 2022. Quantiles at fixed levels are the outputs, as one of them and positive steps from each to the next;
    between them lie straight pieces whose places and heights are outputs too, and beyond them tails like those of an
    exponential distribution. The cost is the continuous ranked probability score in its closed form, on the scale of
    the network, as the pinball cost of a quantile loss is.

    Deviations: steps are counted from the middle level, not from the lowest, and in units in which outputs of 0 are the
    quantiles of a standard normal distribution.

    Attributes:
        quantiles: Levels of the knots, at least two; kept in ascending order.
        pieces: Straight pieces between two knots.

    Examples:
        Before training the quantiles are those of a standard normal distribution:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss = nd.losses.ISQF()
        >>> forecast = loss.forecast(torch.zeros(1, 1, 1, loss.outputs), levels=(0.05, 0.25, 0.95))
        >>> loss.outputs, [round(quantile, 2) for quantile in forecast.quantiles.flatten().tolist()]
        (33, [-1.64, -0.67, 1.64])
    """

    quantiles: Annotated[tuple[float, ...], AfterValidator(_check_knots)] = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    pieces: int = knob(2, low=1, high=5, ge=1, le=100)

    def __init__(self, quantiles: Sequence[float] = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95), **values: Any) -> None:
        super().__init__(**{"quantiles": tuple(quantiles), **values})

    @property
    def outputs(self) -> int:
        return len(self.quantiles) + 2 * self._outer

    @property
    def _outer(self) -> int:
        """Outputs on each side: of a tail, and of the widths or the heights of the pieces."""
        return 1 + (self.pieces * (len(self.quantiles) - 1) if self.pieces > 1 else 0)

    def make_distribution(self, raw: Tensor, units: Units) -> SplineDistribution:
        from neuro_divergent.losses.distribution.distributions.spline import SplineDistribution, increasing

        side, count = self._outer, len(self.quantiles)
        before, knots, behind = raw[..., :side], raw[..., side : side + count], raw[..., side + count :]
        normal = NormalDist()
        at = [normal.inv_cdf(level) for level in self.quantiles]
        # A step of an output of 0 is that of a normal distribution.
        unit = raw.new_tensor([high - low for low, high in pairwise(at)]) / math.log(2)
        centre = middle(self.quantiles)
        steps = positive(_without(knots, centre)) * unit
        first = at[centre] + knots[..., centre] - steps[..., :centre].sum(-1)
        distances = raw.new_tensor([high - low for low, high in pairwise(self.quantiles)])
        widths, heights = distances.expand_as(steps), steps
        if self.pieces > 1:
            widths = self._parts(before) * widths.unsqueeze(-1)
            heights = self._parts(behind) * heights.unsqueeze(-1)
            widths, heights = widths.flatten(-2), heights.flatten(-2)
        lowest, highest = self.quantiles[0], self.quantiles[-1]
        left = positive(before[..., -1]) * (lowest / normal.pdf(at[0]) / math.log(2))
        right = positive(behind[..., -1]) * ((1 - highest) / normal.pdf(at[-1]) / math.log(2))
        return SplineDistribution(
            increasing(first.new_full(first.shape, lowest), widths), increasing(first, heights), left, right
        )

    def _parts(self, raw: Tensor) -> Tensor:
        """Return how each distance between knots is shared out among its pieces, none of which gets nothing."""
        fraction = raw[..., :-1].reshape(*raw.shape[:-1], len(self.quantiles) - 1, self.pieces).softmax(-1)
        least = 1e-3 / self.pieces
        return least + (1 - 1e-3) * fraction

    def cost(self, distribution: Distribution, target: Tensor, units: Units) -> Tensor:
        from neuro_divergent.losses.distribution.distributions.spline import SplineDistribution

        assert isinstance(distribution, SplineDistribution)
        return distribution.crps(target)


def _without(values: Tensor, place: int) -> Tensor:
    """Return values without the one at a place of the last axis."""
    import torch

    return torch.cat([values[..., :place], values[..., place + 1 :]], dim=-1)
