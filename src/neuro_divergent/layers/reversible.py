"""Reversible instance normalisation with its learned part.

Letters: B batch, L history, H horizon, C channel, P outputs per step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.layers.revin import Standardisation


class GainAndShift(nn.Module):
    """The learned part: a gain and a shift per channel, and their inverse; without ``affine`` nothing changes."""

    def __init__(self, channels: int, affine: bool = True) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels)) if affine else None
        self.shift = nn.Parameter(torch.zeros(channels)) if affine else None

    def apply_to(self, values_BLC: Tensor) -> Tensor:
        """Return standardised values with gain and shift."""
        if self.gain is None or self.shift is None:
            return values_BLC
        return torch.addcmul(self.shift, values_BLC, self.gain)

    def undo(self, forecast_BHCP: Tensor) -> Tensor:
        """Return forecasts without gain and shift."""
        if self.gain is None or self.shift is None:
            return forecast_BHCP
        # A gain that training brought near zero must not blow the forecast up.
        gain = self.gain.where(self.gain.abs() > 1e-5, 1e-5)
        return (forecast_BHCP - self.shift[:, None]) / gain[:, None]


class RevIN(GainAndShift):
    """Standardises each history, applies a learned gain and shift per channel, and undoes both on the forecast.

    Kim et al., "Reversible Instance Normalization for Accurate Time-Series Forecasting against Distribution Shift",
    ICLR 2022. Level and spread are those of the observed values.
    """

    def forward(self, values_BLC: Tensor, mask: Tensor | None) -> tuple[Tensor, Standardisation]:
        """Return the history, zero where unobserved as it came in, and the statistics for ``restore``."""
        measured = Standardisation.of(values_BLC, mask)
        values = self.apply_to(measured.remove(values_BLC))
        return values if mask is None or self.gain is None else values * mask, measured

    def restore(self, forecast_BHCP: Tensor, measured: Standardisation) -> Tensor:
        """Return forecasts in the units that came in."""
        return measured.restore(self.undo(forecast_BHCP))
