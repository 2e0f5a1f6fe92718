"""Losses that forecast quantiles."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import Forecast, Loss

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("quantile")
class QuantileLoss(Loss):
    """Pinball loss of several quantile levels at once, averaged over the levels.

    The point forecast is the median where it is among the levels, else the level nearest to it. Forecast quantiles are
    sorted, so they never cross.
    """

    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)

    def __init__(self, quantiles: Sequence[float] = (0.1, 0.5, 0.9), **values: Any) -> None:
        super().__init__(**{"quantiles": tuple(quantiles), **values})

    @field_validator("quantiles")
    @classmethod
    def _sorted_levels(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not value or any(not 0 < level < 1 for level in value) or len(set(value)) != len(value):
            raise ValueError("must be different numbers between 0 and 1, at least one")
        return tuple(sorted(value))

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
        error = target.unsqueeze(-1) - raw
        levels = raw.new_tensor(self.quantiles)
        return (levels * error).maximum((levels - 1) * error).mean(-1)

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = ()) -> Forecast:
        """Return the median as the point, and the quantiles asked for."""
        ordered = raw.sort(-1).values
        middle = min(range(self.outputs), key=lambda index: abs(self.quantiles[index] - 0.5))
        picked = [bisect.bisect_left(self.quantiles, level - 1e-9) for level in levels]
        return Forecast(ordered[..., middle], ordered[..., picked] if levels else None)
