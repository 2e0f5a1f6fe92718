"""Losses that forecast expectiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import Forecast, Loss
from neuro_divergent.losses.levels import check_levels, middle

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


def _ascending(levels: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(sorted(check_levels(levels)))


@register("expectile")
class ExpectileLoss(Loss):
    """Squared error that counts ``level`` where the forecast is too low and ``1 - level`` where it is too high.

    An expectile is to the mean what a quantile is to the median: 0.5 forecasts the mean, 0.9 leans to the high side
    and, unlike a quantile, is moved by how far off the values are (Newey & Powell, 1987). With several levels the cost
    is their average and the point forecast is the level nearest to one half. Expectiles are not quantiles, so intervals
    are not read off them.

    Attributes:
        levels: Levels to train for, between 0 and 1, in ascending order.

    Examples:
        An error of 2 costs ``0.9 * 4`` if the forecast is too low and ``0.1 * 4`` if it is too high:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> costs = nd.losses.ExpectileLoss([0.9]).elementwise(torch.tensor([8.0, 12.0]), torch.tensor([10.0, 10.0]))
        >>> [round(cost, 3) for cost in costs.tolist()]
        [3.6, 0.4]
    """

    levels: Annotated[tuple[float, ...], AfterValidator(_ascending)] = (0.5,)

    def __init__(self, levels: Sequence[float] = (0.5,), **values: Any) -> None:
        super().__init__(**{"levels": tuple(levels), **values})

    @property
    def outputs(self) -> int:
        return len(self.levels)

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        error = target.unsqueeze(-1) - self.arrange(raw, target)
        levels = raw.new_tensor(self.levels)
        return (levels.where(error > 0, 1 - levels) * error.square()).mean(-1)

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        """Return the expectile nearest to the mean as the point; expectiles are sorted first, so they never cross."""
        assert not levels, "expectiles are not quantiles"
        return Forecast(raw.sort(-1).values[..., middle(self.levels)])
