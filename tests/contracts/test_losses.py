"""What every loss must do, and the closed forms of each."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.point import MAE, MSE, Huber
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.losses.reduce import weighted_mean

NAMES = Loss.registry.names()
B, H, C = 5, 4, 3


def raw_and_target(loss: Loss, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    raw = torch.randn(B, H, C, loss.outputs, dtype=dtype, generator=generator)
    return raw, torch.randn(B, H, C, dtype=dtype, generator=generator)


@pytest.mark.parametrize("name", NAMES)
class TestEveryLoss:
    def test_costs_are_finite_and_not_negative(self, name: str) -> None:
        loss = Loss.from_dict(name)
        cost = loss.elementwise(*raw_and_target(loss))
        assert cost.shape == (B, H, C)
        assert torch.isfinite(cost).all()
        assert (cost >= 0).all()

    def test_a_perfect_forecast_costs_nothing(self, name: str) -> None:
        loss = Loss.from_dict(name)
        _, target = raw_and_target(loss)
        raw = target.unsqueeze(-1).expand(*target.shape, loss.outputs)
        assert torch.equal(loss.elementwise(raw, target), torch.zeros_like(target))

    def test_gradient_agrees_with_finite_differences(self, name: str) -> None:
        loss = Loss.from_dict(name)
        raw, target = raw_and_target(loss)
        raw.requires_grad_()
        assert torch.autograd.gradcheck(lambda value: loss.elementwise(value, target), (raw,), eps=1e-6, atol=1e-6)

    def test_forecast_has_a_point_and_the_levels_asked_for(self, name: str) -> None:
        loss = Loss.from_dict(name)
        raw, _ = raw_and_target(loss)
        forecast = loss.forecast(raw, loss.quantile_levels)
        assert forecast.point.shape == (B, H, C)
        if loss.quantile_levels:
            assert forecast.quantiles is not None
            assert forecast.quantiles.shape == (B, H, C, len(loss.quantile_levels))
            assert (forecast.quantiles.diff(dim=-1) >= 0).all()


def test_point_losses_are_torchs() -> None:
    raw, target = raw_and_target(MSE())
    point = raw.squeeze(-1)
    assert torch.allclose(MSE().elementwise(raw, target), functional.mse_loss(point, target, reduction="none"))
    assert torch.allclose(MAE().elementwise(raw, target), functional.l1_loss(point, target, reduction="none"))
    for delta in (0.1, 1.0, 3.0):
        ours = Huber(delta=delta).elementwise(raw, target)
        assert torch.allclose(ours, functional.huber_loss(point, target, reduction="none", delta=delta))


@given(st.floats(0.01, 0.99), st.floats(-5, 5), st.floats(-5, 5))
def test_pinball_is_its_definition(level: float, forecast: float, target: float) -> None:
    raw = torch.tensor([[[[forecast]]]], dtype=torch.float64)
    cost = QuantileLoss([level]).elementwise(raw, torch.tensor([[[target]]], dtype=torch.float64))
    error = target - forecast
    assert float(cost) == pytest.approx(level * error if error >= 0 else (level - 1) * error)


def test_minimising_the_pinball_loss_finds_the_quantiles() -> None:
    sample = torch.randn(4000, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    loss = QuantileLoss([0.1, 0.5, 0.9])
    raw = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([raw], lr=0.02)
    for _ in range(400):
        optimizer.zero_grad()
        loss.elementwise(raw.expand(4000, 1, 1, 3), sample).mean().backward()
        optimizer.step()
    assert torch.allclose(raw.detach(), torch.quantile(sample.flatten(), raw.new_tensor([0.1, 0.5, 0.9])), atol=0.03)


def test_masked_costs_do_not_count_even_when_they_are_not_finite() -> None:
    cost = torch.tensor([[1.0, float("nan")], [3.0, float("inf")]], requires_grad=True)
    mask = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    mean = weighted_mean(cost, mask)
    mean.backward()
    assert float(mean.detach()) == 2.0
    assert torch.equal(cost.grad, torch.tensor([[0.5, 0.0], [0.5, 0.0]]))
    assert float(weighted_mean(cost.detach(), torch.zeros_like(mask))) == 0.0


@pytest.mark.parametrize("levels", [[], [0.0], [1.0], [0.5, 0.5], [-1]])
def test_impossible_quantiles_are_refused(levels: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        QuantileLoss(levels)
