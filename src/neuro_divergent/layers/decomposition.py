"""Splitting a series into a slow and a fast part."""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.layers.complex_pair import ComplexPair


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError(f"{value} must be odd, so that the average has a middle; try {value + 1}")
    return value


Window = Annotated[int, Field(ge=1), AfterValidator(_odd)]


class Decomposition(nn.Module):
    """Splits series into their moving average over an odd number of steps and the remainder.

    Wu et al., "Autoformer", NeurIPS 2021.
    """

    averaging: Tensor

    def __init__(self, steps: int, window: int) -> None:
        super().__init__()
        self.register_buffer("averaging", moving_average_matrix(steps, window), persistent=False)

    def forward(self, series_BLD: Tensor) -> Tensor:
        """Return the seasonal part alone, ``(batch, time, feature)``."""
        return self.split(series_BLD)[0]

    def split(self, series_BLD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the seasonal part and the trend."""
        trend = self.averaging @ series_BLD
        return series_BLD - trend, trend


class Waves(nn.Module):
    """The seasonal part of series as their strongest waves over time; the mean is none."""

    def __init__(self, num_waves: int) -> None:
        super().__init__()
        self.num_waves = num_waves

    def forward(self, series_BLD: Tensor) -> Tensor:
        if is_exporting():
            pair = ComplexPair.spectrum(series_BLD)
            kept = self._strongest(pair.abs())
            return ComplexPair(pair.real * kept, pair.imag * kept).to_series(series_BLD.shape[1])
        spectrum = torch.fft.rfft(series_BLD, dim=1)
        kept = self._strongest(spectrum.detach().abs())
        season: Tensor = torch.fft.irfft(spectrum * kept, n=series_BLD.shape[1], dim=1)
        return season

    def _strongest(self, strength: Tensor) -> Tensor:
        """Return which waves are kept; the strength of the mean, which is no wave, is set to 0."""
        strength[:, 0] = 0
        weakest = strength.topk(min(self.num_waves, strength.shape[1]), 1).values[:, -1:]
        return (strength >= weakest) & (strength > 0)


class SeasonalNorm(nn.Module):
    """Layer normalisation after which each feature has the mean 0 over time (Autoformer).

    A bias would be removed by the second, so there is none.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size, bias=False)

    def forward(self, tokens_BLD: Tensor) -> Tensor:
        normalised: Tensor = self.norm(tokens_BLD)
        return normalised - normalised.mean(1, keepdim=True)


def moving_average_matrix(steps: int, window: int) -> Tensor:
    """Return the matrix ``A`` shaped ``(steps, steps)`` for which ``A @ series`` is the centred moving average.

    The ends repeat their edge value, so the first and last points lean on themselves instead of drifting to zero. The
    window is odd; 1 gives the identity, and it may exceed the length.
    """
    offsets = torch.arange(window) - (window - 1) // 2
    neighbours = (torch.arange(steps)[:, None] + offsets).clamp(0, steps - 1)
    weight = torch.full(neighbours.shape, 1.0 / window, dtype=torch.get_default_dtype())
    return torch.zeros(steps, steps).scatter_add_(1, neighbours, weight)
