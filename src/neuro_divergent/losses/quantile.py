"""Losses that forecast quantiles."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import Forecast, Loss, LossTraits
from neuro_divergent.losses.levels import Weight, check_levels, middle

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("quantile")
class QuantileLoss(Loss):
    """Pinball loss of several quantile levels at once, averaged over the levels.

    The point forecast is the median where it is among the levels, else the level nearest to it. Forecast quantiles
    never cross: they are sorted, or ``monotone``.

    Several levels make a distribution to draw from: straight lines between the levels, and beyond the outermost ones
    exponential tails through the outermost two, as Park et al. (AISTATS 2022) have them. A single level does not.

    Attributes:
        quantiles: Levels to train for; kept in ascending order.
        weights: How much each level counts in the average, one positive number for each in the order they were given;
            only their ratios matter. Unset, all count the same.
        monotone: Whether the outputs are the middle level and how far each further one lies from its neighbour, which
            is never negative, so that quantiles cannot cross while they are trained either. The distance is the
            softplus of the output, measured by what it is in a standard normal distribution.
        delta: Error below which the cost is quadratic, on the scale of the network (Dabney et al., "Distributional
            Reinforcement Learning with Quantile Regression", AAAI 2018, divided by ``delta``); 0 is the pinball loss.
            What is learned moves from quantiles towards expectiles as it grows.

    Examples:
        The cost of three quantiles for a target of 11 is the mean of ``0.1 * 3``, ``0.5 * 1`` and ``0.1 * 1``:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss = nd.QuantileLoss([0.1, 0.5, 0.9])
        >>> quantiles = torch.tensor([[8.0, 10.0, 12.0]])
        >>> round(loss.elementwise(quantiles, torch.tensor([11.0])).item(), 3)
        0.3
        >>> loss.forecast(quantiles).point.item()
        10.0
    """

    quantiles: Annotated[tuple[float, ...], AfterValidator(check_levels)] = (0.1, 0.5, 0.9)
    weights: tuple[Weight, ...] | None = None
    monotone: bool = False
    delta: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    def __init__(self, quantiles: Sequence[float] = (0.1, 0.5, 0.9), **values: Any) -> None:
        super().__init__(**{"quantiles": tuple(quantiles), **values})

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Sort the levels, each with its weight."""
        if self.weights is not None and len(self.weights) != len(self.quantiles):
            raise ValueError(
                f"quantile: weights: {len(self.weights)} weights for {len(self.quantiles)} quantiles; give one for each"
            )
        order = sorted(range(len(self.quantiles)), key=self.quantiles.__getitem__)
        # The object is frozen for everyone else; here it is still being made.
        object.__setattr__(self, "quantiles", tuple(self.quantiles[place] for place in order))
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(self.weights[place] for place in order))
        return self

    @property
    def outputs(self) -> int:
        return len(self.quantiles)

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        return self.quantiles

    @property
    def traits(self) -> LossTraits:  # type: ignore[override] # here they depend on the settings
        """Several levels make a distribution, and ``monotone`` outputs are distances between quantiles."""
        return LossTraits(probabilistic=len(self.quantiles) > 1, point_valued=not self.monotone)

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        error = target.unsqueeze(-1) - self._values(self.arrange(raw, target))
        cost = pinball(error, raw.new_tensor(self.quantiles), self.delta)
        if self.weights is None:
            return cost.mean(-1)
        return (cost * cost.new_tensor(self.weights)).sum(-1) / sum(self.weights)

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        ordered = self._ordered(raw)
        picked = [bisect.bisect_left(self.quantiles, level - 1e-9) for level in levels]
        return Forecast(ordered[..., middle(self.quantiles)], ordered[..., picked] if levels else None)

    def inverse(self, raw: Tensor, probability: Tensor, batch: Batch | None = None) -> Tensor:
        import torch

        assert self.traits.probabilistic, "a single level is no distribution"
        ordered = self._ordered(raw)
        levels = ordered.new_tensor(self.quantiles)
        probability = probability.to(ordered.dtype).expand(probability.shape[0], *ordered.shape[:-1])
        above = torch.bucketize(probability.contiguous(), levels).clamp(1, levels.shape[0] - 1)
        wide = ordered.expand(probability.shape[0], *ordered.shape)
        low, high = (wide.gather(-1, place.unsqueeze(-1)).squeeze(-1) for place in (above - 1, above))
        begin, end = levels[above - 1], levels[above]
        inside = low.lerp(high, (probability - begin) / (end - begin))
        lower = _tail(ordered[..., 0], ordered[..., 1], probability, *self.quantiles[:2])
        outer, inner = (1 - level for level in (self.quantiles[-1], self.quantiles[-2]))
        upper = _tail(ordered[..., -1], ordered[..., -2], 1 - probability, outer, inner)
        return lower.where(probability < levels[0], upper.where(probability > levels[-1], inside))

    def _ordered(self, raw: Tensor) -> Tensor:
        """Return the quantiles of outputs, ascending."""
        return self._values(raw) if self.monotone else raw.sort(-1).values

    def _values(self, raw: Tensor) -> Tensor:
        """Return the value that outputs give to each level."""
        if not self.monotone:
            return raw
        import torch
        from torch.nn.functional import softplus

        scores = [NormalDist().inv_cdf(level) for level in self.quantiles]
        centre = middle(self.quantiles)
        gaps = [abs(score - scores[place + (1 if place < centre else -1)]) for place, score in enumerate(scores)]
        distance = softplus(raw) * raw.new_tensor(gaps)
        point = raw[..., centre : centre + 1]
        below = distance[..., :centre].flip(-1).cumsum(-1).flip(-1)
        return torch.cat([point - below, point, point + distance[..., centre + 1 :].cumsum(-1)], -1)


def pinball(error: Tensor, levels: Tensor, delta: float = 0.0) -> Tensor:
    """Return what errors (target minus quantile) cost: ``level`` times their size above 0, ``1 - level`` below.

    Up to an error of ``delta``, half its square divided by ``delta`` stands for its size.
    """
    if not delta:
        return (levels * error).maximum((levels - 1) * error)
    size = error.abs()
    near = size.clamp_max(delta)
    return levels.where(error > 0, 1 - levels) * near * (size - near / 2) / delta


def _tail(
    outer: Tensor, inner: Tensor, probability: Tensor, outer_probability: float, inner_probability: float
) -> Tensor:
    """Return what lies beyond the outermost quantile, on the exponential tail through it and the one before.

    Probabilities are those of values further out: than what is requested, than the outermost quantile, than the inner.
    """
    import torch

    least = torch.finfo(probability.dtype).eps / 2  # as far as a tail can be followed
    distance = (probability.clamp_min(least) / outer_probability).log()
    return outer + (inner - outer) * distance / math.log(inner_probability / outer_probability)
