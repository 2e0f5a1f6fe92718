"""Complex numbers as pairs of real ones: equal to torch's complex tensors."""

from __future__ import annotations

import pytest
import torch

from neuro_divergent.layers.complex_pair import ComplexPair

close = torch.testing.assert_close


def pair(*shape: int, seed: int = 0) -> tuple[ComplexPair, torch.Tensor]:
    values = torch.randn(*shape, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return ComplexPair(*values.unbind(-1)), torch.view_as_complex(values)


def check(found: ComplexPair, expected: torch.Tensor) -> None:
    close(torch.complex(found.real, found.imag), expected.contiguous())


@pytest.mark.parametrize("steps", [1, 2, 7, 8, 96])
def test_spectrum_and_its_inverse_equal_the_fast_fourier_transform(steps: int) -> None:
    series = torch.randn(3, 4, steps, 5, dtype=torch.float64)
    found = ComplexPair.spectrum(series)
    check(found, torch.fft.rfft(series, dim=2))
    close(found.to_series(steps), series)


def test_some_frequencies_equal_a_spectrum_whose_others_are_zero() -> None:
    series, modes = torch.randn(2, 3, 12, 4, dtype=torch.float64), [0, 2, 6]
    expected = torch.zeros_like(torch.fft.rfft(series, dim=2))
    expected[:, :, modes] = torch.fft.rfft(series, dim=2)[:, :, modes]
    found = ComplexPair.spectrum(series, modes)
    check(found, expected[:, :, modes])
    close(found.to_series(12, modes), torch.fft.irfft(expected, n=12, dim=2))


def test_operators_equal_those_of_complex_tensors() -> None:
    (one, first), (two, second) = pair(2, 3, 3), pair(2, 3, 3, seed=1)
    check(one.times(two), first * second)
    check(one.matmul(two.conj().transpose(1, 2)), first @ second.conj().transpose(1, 2))
    check(one.mean((0, 2)), first.mean((0, 2)))
    close(one.abs(), first.abs())


def test_tanh_equals_that_of_complex_tensors_near_poles_and_far_out() -> None:
    check(pair(50)[0].tanh(), pair(50)[1].tanh())
    real, imag = torch.cartesian_prod(
        torch.tensor([-400.0, -30.0, -1e-4, 0.0, 1e-9, 5.0], dtype=torch.float64),
        torch.tensor([0.0, 1.5707, 1.58, -1.5708, 100.0], dtype=torch.float64),
    ).T
    check(ComplexPair(real, imag).tanh(), torch.complex(real, imag).tanh())
