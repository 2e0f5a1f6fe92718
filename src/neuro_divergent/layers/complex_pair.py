"""Complex numbers as two tensors of real ones, for graphs whose operators know no complex types."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor


class ComplexPair(NamedTuple):
    """Real and imaginary parts of the same shape, with the operators of a complex tensor that layers use."""

    real: Tensor
    imag: Tensor

    @classmethod
    def spectrum(cls, series: Tensor, modes: list[int] | None = None) -> ComplexPair:
        """Return what ``torch.fft.rfft`` does along the last axis but one, or only some of its frequencies.

        Both are products with constant matrices, so the number of steps must be known.
        """
        steps = series.shape[-2]
        cosine, sine = _waves(list(range(steps // 2 + 1)) if modes is None else modes, steps, series)
        return cls(cosine @ series, -sine @ series)

    def to_series(self, steps: int, modes: list[int] | None = None) -> Tensor:
        """Return what ``torch.fft.irfft`` does along the last axis but one; frequencies that are not given are zero."""
        used = list(range(self.real.shape[-2])) if modes is None else modes
        cosine, sine = _waves(used, steps, self.real)
        # All but the first and, of an even number of steps, the last stand for a second one, their conjugate.
        weight = self.real.new_tensor([(1 if mode == 0 or 2 * mode == steps else 2) / steps for mode in used])
        return (cosine.T * weight) @ self.real - (sine.T * weight) @ self.imag

    def conj(self) -> ComplexPair:
        """Return the conjugate."""
        return ComplexPair(self.real, -self.imag)

    def times(self, other: ComplexPair) -> ComplexPair:
        """Return the product of each pair of elements."""
        real = self.real * other.real - self.imag * other.imag
        return ComplexPair(real, self.real * other.imag + self.imag * other.real)

    def matmul(self, other: ComplexPair) -> ComplexPair:
        """Return the matrix product."""
        real = self.real @ other.real - self.imag @ other.imag
        return ComplexPair(real, self.real @ other.imag + self.imag @ other.real)

    def transpose(self, first: int, second: int) -> ComplexPair:
        """Swap two axes."""
        return ComplexPair(self.real.transpose(first, second), self.imag.transpose(first, second))

    def mean(self, dims: tuple[int, ...]) -> ComplexPair:
        """Return the mean over some axes."""
        return ComplexPair(self.real.mean(dims), self.imag.mean(dims))

    def abs(self) -> Tensor:
        """Return the size of each number."""
        return (self.real.square() + self.imag.square()).sqrt()

    def tanh(self) -> ComplexPair:
        """Return the hyperbolic tangent, which overflows nowhere and is as exact as can be near its poles."""
        small = (-2 * self.real.abs()).exp()
        sine, cosine = self.imag.sin(), self.imag.cos()
        below = (1 - small).square() + 4 * small * cosine.square()
        return ComplexPair(self.real.sign() * (1 - small) * (1 + small) / below, 4 * small * sine * cosine / below)


def _waves(modes: list[int], steps: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the cosine and the sine of each frequency at each step, ``(modes, steps)`` each."""
    # Multiples of a turn are taken out while numbers are integers: large angles would lose digits.
    angles = [[2 * math.pi * (mode * step % steps) / steps for step in range(steps)] for mode in modes]
    cosine, sine = ([[wave(angle) for angle in row] for row in angles] for wave in (math.cos, math.sin))
    return like.new_tensor(cosine), like.new_tensor(sine)
