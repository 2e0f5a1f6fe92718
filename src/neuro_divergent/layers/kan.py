"""Layers whose connections are learned functions of one number: Kolmogorov-Arnold networks.

Letters: N rows, I inputs, O outputs, K functions of a basis. Every layer turns ``NI`` into ``NO``.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Wavelet = Literal["mexican_hat", "morlet", "dog", "meyer", "shannon"]


class SplineKAN(nn.Module):
    """Sums a spline and a scaled SiLU of each input (Liu et al., "KAN: Kolmogorov-Arnold Networks", ICLR 2025).

    Beyond the grid a spline fades to zero within ``order`` intervals, and only the SiLU remains.

    Args:
        grid_size: Intervals of the grid.
        order: Degree of the splines.
        noise: Size of the random curves that the splines start from.
    """

    def __init__(
        self, inputs: int, outputs: int, *, grid_size: int, order: int, grid_range: tuple[float, float], noise: float
    ) -> None:
        super().__init__()
        self._start, self._step = grid_range[0], (grid_range[1] - grid_range[0]) / grid_size
        self._grid_size, self._order = grid_size, order
        self.base = nn.Parameter(torch.empty(outputs, inputs))
        self.coefficients = nn.Parameter(torch.empty(outputs, inputs, grid_size + order))
        self.scale = nn.Parameter(torch.empty(outputs, inputs))
        self._reset(noise)

    @torch.no_grad()
    def _reset(self, noise: float) -> None:
        nn.init.kaiming_uniform_(self.base, a=math.sqrt(5))
        nn.init.kaiming_uniform_(self.scale, a=math.sqrt(5))
        # Least-norm coefficients of a curve through random values at the grid points.
        points = self._start + self._step * torch.arange(self._grid_size + 1)
        to_coefficients = torch.linalg.pinv(self.basis(points))
        curve = torch.rand(*self.base.shape, self._grid_size + 1) - 0.5
        self.coefficients.copy_(curve @ to_coefficients.T * (noise / self._grid_size))

    def basis(self, values: Tensor) -> Tensor:
        """Return the ``grid_size + order`` basis splines at each value, ``(..., K)``, by the recursion of de Boor."""
        first = torch.arange(self._grid_size + 2 * self._order, device=values.device, dtype=values.dtype)
        place = (values[..., None] - self._start) / self._step + self._order - first
        splines = ((place >= 0) & (place < 1)).to(values.dtype)
        for degree in range(1, self._order + 1):
            rising, falling = place[..., :-degree], degree + 1 - place[..., :-degree]
            splines = (rising * splines[..., :-1] + falling * splines[..., 1:]) / degree
        return splines

    def forward(self, values_NI: Tensor) -> Tensor:
        weight = (self.coefficients * self.scale[..., None]).flatten(1)
        smooth = functional.linear(functional.silu(values_NI), self.base)
        return smooth + functional.linear(self.basis(values_NI).flatten(1), weight)


class TaylorKAN(nn.Module):
    """Sums a polynomial of each input, with the powers from 0 up to ``order - 1``."""

    def __init__(self, inputs: int, outputs: int, order: int) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(outputs, inputs, order) * 0.01)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, values_NI: Tensor) -> Tensor:
        # The power 0 is 1 whatever comes in: its coefficients only add to the bias.
        forecast = self.bias + self.coefficients[..., 0].sum(1)
        power = torch.ones_like(values_NI)
        for coefficients in self.coefficients.unbind(2)[1:]:
            power = power * values_NI
            forecast = forecast + functional.linear(power, coefficients)
        return forecast.expand(values_NI.shape[0], -1)


class JacobiKAN(nn.Module):
    """Sums, for each input squeezed between -1 and 1, Jacobi polynomials up to a degree, with both exponents 1."""

    def __init__(self, inputs: int, outputs: int, degree: int) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.empty(inputs, outputs, degree + 1))
        nn.init.normal_(self.coefficients, std=1 / (inputs * (degree + 1)))

    def basis(self, values: Tensor) -> Tensor:
        """Return the polynomials at values between -1 and 1, ``(..., K)``, each made from the two before it."""
        polynomials = [torch.ones_like(values), 2 * values]
        for degree in range(2, self.coefficients.shape[2]):
            ahead = (2 * degree + 1) * (degree + 1) * values * polynomials[-1] - degree * (degree + 1) * polynomials[-2]
            polynomials.append(ahead / (degree * (degree + 2)))
        return torch.stack(polynomials[: self.coefficients.shape[2]], -1)

    def forward(self, values_NI: Tensor) -> Tensor:
        return torch.einsum("nik,iok->no", self.basis(values_NI.tanh()), self.coefficients)


class WaveletKAN(nn.Module):
    """Sums a wavelet of each input, shifted and stretched for each connection."""

    window: Tensor

    def __init__(self, inputs: int, outputs: int, wavelet: Wavelet) -> None:
        super().__init__()
        self._wavelet = wavelet
        self.stretch = nn.Parameter(torch.ones(outputs, inputs))
        self.shift = nn.Parameter(torch.zeros(outputs, inputs))
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.register_buffer("window", torch.hamming_window(inputs, periodic=False), persistent=False)

    def forward(self, values_NI: Tensor) -> Tensor:
        waves_NOI = self._shape((values_NI[:, None] - self.shift) / self.stretch)
        return torch.einsum("noi,oi->no", waves_NOI, self.weight)

    def _shape(self, place: Tensor) -> Tensor:
        if self._wavelet == "shannon":
            return torch.sinc(place / math.pi) * self.window
        if self._wavelet == "meyer":
            return _meyer(place.abs())
        square = place.square()
        envelope = (-0.5 * square).exp()
        if self._wavelet == "morlet":
            return (5 * place).cos() * envelope
        if self._wavelet == "dog":
            return -place * envelope
        hat: Tensor = (2 / (math.sqrt(3) * math.pi**0.25)) * (square - 1) * envelope
        return hat


def _meyer(place: Tensor) -> Tensor:
    """Return a wave that fades out smoothly between 1/2 and 1."""
    fade = (2 * place - 1).clamp(0, 1)
    smooth = fade**4 * (35 - 84 * fade + 70 * fade**2 - 20 * fade**3)
    return torch.sin(math.pi * place) * torch.cos(math.pi / 2 * smooth)
