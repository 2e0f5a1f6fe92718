"""The measure of the M4 competition as a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import neuro_divergent as nd

if TYPE_CHECKING:
    from torch import Tensor

_SMALLEST = 0.005  # share of the level of a window that its naive error counts as, at least


@nd.register("owa")
class OWA(nd.losses.MASE):
    """The mean of sMAPE and MASE, each relative to that of Naive2.

    MASE is measured by the naive error in the history of the window instead of the whole series. A history that hardly
    changes would outweigh all others, so the naive error is at least half a percent of the level.

    Attributes:
        naive_smape: sMAPE of Naive2, in percent.
        naive_mase: Its MASE.
    """

    naive_smape: float
    naive_mase: float

    def __init__(self, season_length: int = 1, **values: Any) -> None:
        super().__init__(season_length, **values)

    def size(self, forecast: Tensor, target: Tensor, batch: nd.models.Batch | None) -> Tensor:
        """Return what an absolute error is divided by, so that the quotient is its share of the OWA."""
        import torch

        assert batch is not None
        observed = torch.ones_like(batch.past_y) if batch.past_mask is None else batch.past_mask
        level = (batch.past_y.abs() * observed).sum(1, keepdim=True) / observed.sum(1, keepdim=True).clamp_min(1)
        naive = super().size(forecast, target, batch).maximum(_SMALLEST * level)
        half = (forecast.abs() + target.abs()) / 2
        # The harmonic mean of the two units; where one is zero, so is the mean, and such targets are left out.
        smape, mase = half * (self.naive_smape / 100), naive * self.naive_mase
        return 2 * smape * mase / (smape + mase).clamp_min(1e-30)
