from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.dlinear import DLinear
from neuro_divergent.models.nlinear import NLinear


def batch_of(rows: int, channels: int = 2) -> Batch:
    values = 100 + torch.randn(rows, 30, channels, generator=torch.Generator().manual_seed(0))
    return Batch(values)


@pytest.mark.parametrize("rows", [1, 64])
def test_dlinear_is_two_linear_maps_of_trend_and_remainder(rows: int) -> None:
    torch.manual_seed(0)
    network, batch = DLinear(kernel_size=7).build(TaskSpec(5, 30, channels=2)), batch_of(rows)
    series = batch.past_y.transpose(1, 2)
    trend = functional.avg_pool1d(functional.pad(series, (3, 3), mode="replicate"), 7, 1)
    expected = (network.season(series - trend) + network.trend(trend)).transpose(1, 2)
    torch.testing.assert_close(network(batch)[..., 0], expected, atol=1e-4, rtol=1e-5)


def test_dlinear_has_the_same_gradients_in_small_and_large_batches() -> None:
    torch.manual_seed(0)
    network, batch = DLinear().build(TaskSpec(5, 30, channels=2)).double(), batch_of(64)
    batch = batch._replace(past_y=batch.past_y.double())
    whole = torch.autograd.grad(network(batch).square().sum(), list(network.parameters()))
    pieces = [batch._replace(past_y=batch.past_y[row : row + 1]) for row in range(64)]
    apart = torch.autograd.grad(sum(network(piece).square().sum() for piece in pieces), list(network.parameters()))
    for one, two in zip(whole, apart, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("kernel_size", [0, 4, -3])
def test_dlinear_refuses_a_window_without_a_middle(kernel_size: int) -> None:
    with pytest.raises(ConfigError, match="dlinear: kernel_size: "):
        DLinear(kernel_size=kernel_size)


def test_nlinear_follows_a_shift_of_level() -> None:
    torch.manual_seed(0)
    network, batch = NLinear().build(TaskSpec(5, 30, channels=2)), batch_of(3)
    moved = batch._replace(past_y=batch.past_y + 1000)
    torch.testing.assert_close(network(moved), network(batch) + 1000, atol=1e-2, rtol=0)
    flat = batch._replace(past_y=torch.full_like(batch.past_y, 7))
    bias = network.linear.bias[None, :, None, None].expand(3, 5, 2, 1)
    torch.testing.assert_close(network(flat), 7 + bias)


def test_linear_models_start_like_torchs_linear_layers() -> None:
    for kind, layers in ((NLinear, 1), (DLinear, 2)):
        torch.manual_seed(3)
        network = kind().build(TaskSpec(5, 30))
        torch.manual_seed(3)
        expected = [value for _ in range(layers) for value in torch.nn.Linear(30, 5).parameters()]
        for one, two in zip(network.parameters(), expected, strict=True):
            assert torch.equal(one, two)
