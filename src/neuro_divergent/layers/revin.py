"""Standardisation of a window before a network, inverted on its forecast.

Letters: B batch, L history, H horizon, C channel, P outputs per step.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

Level = Literal["mean", "last"]


class Standardisation(NamedTuple):
    """Level and spread of each channel of each window, with the transformation and its inverse.

    The statistics of reversible instance normalisation (Kim et al., ICLR 2022), without its learned gain and shift.
    """

    level: Tensor  # B 1 C
    spread: Tensor  # B 1 C
    mask: Tensor | None  # B L C

    @classmethod
    def of(cls, values_BLC: Tensor, mask: Tensor | None, level: Level = "mean") -> Standardisation:
        """Compute the statistics of the observed values of windows that are zero elsewhere.

        The level is the mean or the last observed value; the spread is always around the mean.
        """
        if mask is None:
            variance, mean = values_BLC.var(1, correction=0, keepdim=True), values_BLC.mean(1, keepdim=True)
            last = values_BLC[:, -1:]
        else:
            count = mask.sum(1, keepdim=True).clamp(min=1)
            mean = values_BLC.sum(1, keepdim=True) / count
            variance = ((values_BLC - mean) * mask).square().sum(1, keepdim=True) / count
            steps = torch.arange(values_BLC.shape[1], device=mask.device)[:, None]
            last = values_BLC.gather(1, (steps * (mask > 0)).amax(1, keepdim=True))
        return cls(mean if level == "mean" else last, (variance + 1e-5).sqrt(), mask)

    def remove(self, values_BLC: Tensor) -> Tensor:
        """Return the windows with level 0 and spread 1, still zero where unobserved."""
        values = (values_BLC - self.level) / self.spread
        return values if self.mask is None else values * self.mask

    def restore(self, forecast_BHCP: Tensor) -> Tensor:
        """Return forecasts in the units that came in."""
        return forecast_BHCP * self.spread[..., None] + self.level[..., None]
