from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from neuro_divergent.layers.basis import Interpolation, harmonic_basis, interpolation_basis, polynomial_basis


@pytest.mark.parametrize(("steps", "degree"), [(1, 0), (1, 3), (24, 2), (7, 4)])
def test_polynomials_are_powers_of_a_clock(steps: int, degree: int) -> None:
    expected = [[(step / steps) ** power for step in range(steps)] for power in range(degree + 1)]
    torch.testing.assert_close(polynomial_basis(steps, degree), torch.tensor(expected))


def test_a_polynomial_is_fitted_exactly() -> None:
    clock = torch.arange(10, dtype=torch.float64) / 10
    curve = 3 - 2 * clock + 5 * clock**2
    basis = polynomial_basis(10, 2).double()
    coefficients = torch.linalg.lstsq(basis.T, curve[:, None]).solution[:, 0]
    torch.testing.assert_close(coefficients, torch.tensor([3.0, -2.0, 5.0], dtype=torch.float64), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(("steps", "period", "harmonics"), [(24, 24, 2), (96, 24, 1), (10, 7, 3), (5, 1, 2), (5, 2, 1)])
def test_harmonics_are_cosines_and_sines(steps: int, period: int, harmonics: int, direction: int) -> None:
    frequencies, frequency = [0.0], 1.0
    while frequency < period / 2 - 1e-9:
        frequencies.append(frequency)
        frequency += 1 / harmonics
    angles = [
        [direction * 2 * math.pi * frequency * step / period for step in range(steps)] for frequency in frequencies
    ]
    expected = [list(map(math.cos, row)) for row in angles] + [list(map(math.sin, row)) for row in angles]
    torch.testing.assert_close(harmonic_basis(steps, period, harmonics, direction), torch.tensor(expected))


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize(("knots", "steps"), [(1, 5), (6, 24), (5, 24), (7, 7)])
def test_interpolation_is_torchs(knots: int, steps: int, mode: Interpolation) -> None:
    values = torch.randn(3, 2, knots, generator=torch.Generator().manual_seed(0))
    expected = functional.interpolate(values, size=steps, mode=mode)
    torch.testing.assert_close(values @ interpolation_basis(knots, steps, mode), expected)


@pytest.mark.parametrize(("knots", "steps"), [(1, 5), (6, 24), (5, 24)])
def test_cubic_interpolation_is_torchs(knots: int, steps: int) -> None:
    values = torch.randn(3, knots, generator=torch.Generator().manual_seed(0))
    expected = functional.interpolate(values[:, None, None], size=(1, steps), mode="bicubic")[:, 0, 0]
    torch.testing.assert_close(values @ interpolation_basis(knots, steps, "cubic"), expected)
