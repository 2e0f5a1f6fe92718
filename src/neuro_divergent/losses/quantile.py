"""Losses that forecast quantiles."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, model_validator

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import Forecast, Loss
from neuro_divergent.losses.levels import Weight, check_levels, middle

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("quantile")
class QuantileLoss(Loss):
    """Pinball loss of several quantile levels at once, averaged over the levels.

    The point forecast is the median where it is among the levels, else the level nearest to it. Forecast quantiles are
    sorted, so they never cross.

    Attributes:
        quantiles: Levels to train for; kept in ascending order.
        weights: How much each level counts in the average, one positive number for each in the order they were given;
            only their ratios matter. Unset, all count the same.
    """

    quantiles: Annotated[tuple[float, ...], AfterValidator(check_levels)] = (0.1, 0.5, 0.9)
    weights: tuple[Weight, ...] | None = None

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
        """One number per level."""
        return len(self.quantiles)

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """The levels trained for."""
        return self.quantiles

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the pinball cost averaged over the levels."""
        del batch
        error = target.unsqueeze(-1) - self.arrange(raw, target)
        levels = raw.new_tensor(self.quantiles)
        cost = (levels * error).maximum((levels - 1) * error)
        if self.weights is None:
            return cost.mean(-1)
        return (cost * cost.new_tensor(self.weights)).sum(-1) / sum(self.weights)

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        """Return the median as the point, and the quantiles asked for."""
        del batch
        ordered = raw.sort(-1).values
        picked = [bisect.bisect_left(self.quantiles, level - 1e-9) for level in levels]
        return Forecast(ordered[..., middle(self.quantiles)], ordered[..., picked] if levels else None)
