"""Errors in units of the error of a naive forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.losses.relative import RelativeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("mase")
class MASE(RelativeLoss):
    """Absolute error divided by the naive error in the history of the window (Hyndman & Koehler, 2006).

    The naive error is the mean absolute difference between observed values of the history that are ``season_length``
    rows apart. A history without such differences, because it is constant or has no two values that far apart, gives no
    unit to measure in: its targets cost 0 and their gradient is 0.

    Attributes:
        season_length: Rows in a season; 1 compares neighbours.

    Examples:
        From step to step the history changes by 2, so an error of 3 is one and a half times the naive error:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> batch = nd.models.Batch(past_y=torch.tensor([10.0, 12.0, 10.0, 12.0]).view(1, 4, 1))
        >>> nd.losses.MASE().elementwise(torch.full((1, 1, 1), 11.0), torch.full((1, 1, 1), 14.0), batch).item()
        1.5
    """

    season_length: int = Field(default=1, ge=1)

    def __init__(self, season_length: int = 1, **values: Any) -> None:
        super().__init__(**{"season_length": season_length, **values})

    def size(self, forecast: Tensor, target: Tensor, batch: Batch | None) -> Tensor:
        season = self.season_length
        if batch is None:
            raise ConfigError(
                "mase: errors are measured by the history of a window, and these batches have none. Use another loss, "
                "such as mae, for data that is not a forecasting task."
            )
        history = batch.past_y.shape[1]
        if history <= season:
            raise ConfigError(
                f"mase: season_length {season} needs a history of at least {season + 1} rows; windows have {history}. "
                f"Set input_size to {season + 1} or more, or season_length to less."
            )
        difference = (batch.past_y[:, season:] - batch.past_y[:, :-season]).abs()
        if batch.past_mask is None:
            return difference.mean(1, keepdim=True)
        both = batch.past_mask[:, season:] * batch.past_mask[:, :-season]
        return (difference * both).sum(1, keepdim=True) / both.sum(1, keepdim=True).clamp_min(1)
