from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.kan import KAN
from neuro_divergent.models.rmok import RMoK


def test_a_wider_grid_reaches_values_beyond_one() -> None:
    values = torch.linspace(2, 2.5, 12).view(1, 12, 1)
    mask = torch.ones_like(values)
    for grid_range, reached in (((-1.0, 1.0), False), ((-3.0, 3.0), True)):
        network = KAN(num_layers=0, grid_range=grid_range, spline_order=1).build(TaskSpec(3, 12))
        network(Batch(values, mask)).sum().backward()
        assert network.layers[0].coefficients.grad.any() == reached


def test_the_grid_must_begin_before_it_ends() -> None:
    with pytest.raises(ConfigError, match=r"grid_range: 1\.0 must be less than -1\.0"):
        KAN(grid_range=(1.0, -1.0))


def test_rmok_expert_weights_sum_to_one() -> None:
    torch.manual_seed(0)
    network = RMoK().build(TaskSpec(3, 12)).eval()
    weights = network.expert_weights(torch.randn(7, 12))
    assert weights.shape == (7, 4)
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(7))


def test_a_mixture_can_leave_all_to_one_expert() -> None:
    torch.manual_seed(0)
    network = RMoK(affine=False).build(TaskSpec(3, 12)).eval()
    with torch.no_grad():
        network.gate.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 100.0]))
    values = torch.randn(5, 12, 1)
    values = (values - values.mean(1, keepdim=True)) / values.std(1, correction=0, keepdim=True)
    forecast = network(Batch(values, torch.ones_like(values)))
    torch.testing.assert_close(forecast[:, :, 0, 0], network.experts[3](values[:, :, 0]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("wavelet", ["mexican_hat", "morlet", "dog", "meyer", "shannon"])
def test_every_wavelet_trains(wavelet: str) -> None:
    torch.manual_seed(0)
    network = RMoK(wavelet=wavelet, norm="none").build(TaskSpec(3, 12, channels=2))  # type: ignore[arg-type]
    values = torch.randn(4, 12, 2)
    network(Batch(values, torch.ones_like(values))).square().sum().backward()
    assert all(value.grad is not None and value.grad.any() for value in network.parameters())
    assert all(value.grad is not None and value.grad.isfinite().all() for value in network.parameters())
