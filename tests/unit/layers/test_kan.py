from __future__ import annotations

import math

import pytest
import torch

from neuro_divergent.layers.kan import JacobiKAN, SplineKAN, TaylorKAN, WaveletKAN


def splines(order: int = 3, **settings: object) -> SplineKAN:
    torch.manual_seed(0)
    given = {"grid_size": 5, "grid_range": (-1.0, 1.0), "noise": 0.1} | settings
    return SplineKAN(3, 4, order=order, **given).double()  # type: ignore[arg-type]


def cubic(distance: torch.Tensor) -> torch.Tensor:
    """Return the cubic basis spline in closed form, by the distance to its middle in intervals."""
    away = distance.abs()
    return ((2 - away).clamp(min=0) ** 3 - 4 * (1 - away).clamp(min=0) ** 3) / 6


def test_cubic_splines_are_those_of_the_closed_form() -> None:
    values = torch.linspace(-3, 3, 301, dtype=torch.float64)
    middles = -1 + 0.4 * (torch.arange(8, dtype=torch.float64) - 1)
    torch.testing.assert_close(splines().basis(values), cubic((values[:, None] - middles) / 0.4))


def test_splines_of_order_one_are_hats() -> None:
    values = torch.linspace(-2, 2, 101, dtype=torch.float64)
    middles = torch.linspace(-1, 1, 6, dtype=torch.float64)
    hats = (1 - ((values[:, None] - middles) / 0.4).abs()).clamp(min=0)
    torch.testing.assert_close(splines(order=1).basis(values), hats)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_splines_add_up_to_one_on_the_grid(order: int) -> None:
    layer = splines(order=order, grid_range=(-2.0, 1.0), grid_size=7)
    total = layer.basis(torch.linspace(-2, 0.999, 77, dtype=torch.float64)).sum(1)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_curves_start_between_the_bounds_of_the_noise() -> None:
    layer = splines(noise=0.3)
    points = -1 + 0.4 * torch.arange(5, dtype=torch.float64)
    curves = layer.basis(points) @ layer.coefficients.flatten(0, 1).T
    assert curves.abs().max() <= 0.3 / 5 / 2 + 1e-6
    assert curves.std() > 0.3 / 5 / 8


def test_only_the_base_is_left_far_from_the_grid() -> None:
    layer = splines()
    values = torch.full((2, 3), 9.0, dtype=torch.float64)
    torch.testing.assert_close(layer(values), torch.nn.functional.silu(values) @ layer.base.T)


def test_taylor_layers_are_polynomials() -> None:
    layer = TaylorKAN(2, 1, 3)
    with torch.no_grad():
        layer.coefficients.copy_(torch.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]))
        layer.bias.fill_(7.0)
    values = torch.tensor([[2.0, -1.0]])
    assert layer(values).item() == (1 + 2 * 2 + 3 * 4) + (4 - 5 + 6) + 7
    assert TaylorKAN(2, 1, 1)(torch.randn(5, 2)).shape == (5, 1)


def test_jacobi_polynomials_are_those_of_the_closed_form() -> None:
    x = torch.linspace(-1, 1, 21, dtype=torch.float64)
    closed = [torch.ones_like(x), 2 * x, (15 * x**2 - 3) / 4, 7 * x**3 - 3 * x]
    torch.testing.assert_close(JacobiKAN(1, 1, 3).double().basis(x), torch.stack(closed, -1))
    assert JacobiKAN(1, 1, 0).basis(x).shape == (21, 1)


def test_jacobi_polynomials_are_orthogonal() -> None:
    x = torch.linspace(-1, 1, 20001, dtype=torch.float64)
    basis = JacobiKAN(1, 1, 6).double().basis(x) * (1 - x**2).sqrt()[:, None]
    products = basis.T @ basis * (x[1] - x[0])
    off = products - products.diag().diag()
    assert off.abs().max() < 1e-5
    assert products.diag().min() > 0.1


@pytest.mark.parametrize("wavelet", ["mexican_hat", "dog"])
def test_wavelets_have_no_mean(wavelet: str) -> None:
    layer = WaveletKAN(1, 1, wavelet).double()  # type: ignore[arg-type]
    x = torch.linspace(-10, 10, 4001, dtype=torch.float64)[:, None]
    curve = layer(x)
    assert curve.abs().max() > 1e-3
    assert abs(curve.sum().item() * 0.005) < 1e-6


def test_the_mexican_hat_has_unit_energy() -> None:
    layer = WaveletKAN(1, 1, "mexican_hat").double()
    torch.nn.init.ones_(layer.weight)
    x = torch.linspace(-10, 10, 4001, dtype=torch.float64)[:, None]
    assert layer(x).square().sum().item() * 0.005 == pytest.approx(1, abs=1e-6)


def test_a_meyer_wavelet_fades_out() -> None:
    layer = WaveletKAN(1, 1, "meyer").double()
    torch.nn.init.ones_(layer.weight)
    x = torch.tensor([[0.25], [0.5], [1.0], [3.0]], dtype=torch.float64)
    expected = torch.tensor([[math.sin(math.pi / 4)], [1.0], [0.0], [0.0]], dtype=torch.float64)
    torch.testing.assert_close(layer(x), expected)


def test_wavelets_move_and_stretch() -> None:
    plain, moved = WaveletKAN(1, 1, "dog"), WaveletKAN(1, 1, "dog")
    moved.load_state_dict(plain.state_dict())
    torch.nn.init.constant_(moved.shift, 3.0)
    torch.nn.init.constant_(moved.stretch, 2.0)
    x = torch.randn(9, 1)
    torch.testing.assert_close(moved(2 * x + 3), plain(x))
