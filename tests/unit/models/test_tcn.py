from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.layers.convolution import DepthwiseConvolution, DilatedConvolution
from neuro_divergent.models.tcn import TCN


def encoder(residual: bool, **settings: object) -> nn.Module:
    torch.manual_seed(0)
    config = TCN(hidden_size=6, residual=residual, activation="Tanh", **settings)
    return config.build(TaskSpec(3, 40)).encoder.double().eval()


@pytest.mark.parametrize("residual", [False, True])
@torch.no_grad()
def test_a_state_does_not_change_with_the_future(residual: bool) -> None:
    network, values = encoder(residual), torch.randn(40, 3, 1).double()
    before = network(values)
    for step in (0, 1, 17, 39):
        changed = values.clone()
        changed[step:] += 1
        after = network(changed)
        torch.testing.assert_close(after[:step], before[:step], atol=0, rtol=0)
        assert not torch.isclose(after[step], before[step]).all(1).any()


@pytest.mark.parametrize(
    ("residual", "dilations", "kernel", "field"),
    [(False, (1, 2, 4), 2, 8), (False, (1, 3), 3, 9), (False, (5,), 2, 6), (True, (1, 2), 2, 7), (True, (1, 4), 3, 21)],
)
@torch.no_grad()
def test_a_state_sees_as_far_back_as_its_dilations_reach(
    residual: bool, dilations: tuple[int, ...], kernel: int, field: int
) -> None:
    network = encoder(residual, dilations=dilations, kernel_size=kernel)
    values = torch.randn(40, 2, 1).double()
    before = network(values)[-1]
    for back in (field - 1, field):
        changed = values.clone()
        changed[39 - back] += 1
        assert torch.equal(network(changed)[-1], before) == (back == field)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(
    ("kernel", "dilation", "steps"), [(1, 1, 5), (2, 1, 5), (3, 2, 9), (3, 4, 9), (4, 5, 9), (2, 9, 9)]
)
def test_taps_make_the_convolution_of_torch(ahead: bool, kernel: int, dilation: int, steps: int) -> None:
    torch.manual_seed(0)
    layer = DilatedConvolution(3, 4, kernel, dilation, ahead=ahead).double()
    values = torch.randn(steps, 2, 3, dtype=torch.float64, requires_grad=True)
    around = (0, (kernel - 1) * dilation) if ahead else ((kernel - 1) * dilation, 0)
    padded = functional.pad(values.permute(1, 2, 0), around)
    expected = functional.conv1d(padded, layer.weight, layer.bias, dilation=dilation).permute(2, 0, 1)
    torch.testing.assert_close(layer(values), expected)
    wanted = [values, *layer.parameters()]
    for one, two in zip(
        torch.autograd.grad(layer(values).square().sum(), wanted),
        torch.autograd.grad(expected.square().sum(), wanted),
        strict=True,
    ):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_depthwise_taps_make_the_convolution_of_torch(steps: int) -> None:
    torch.manual_seed(0)
    layer, values = DepthwiseConvolution(3, 4), torch.randn(steps, 2, 3)
    padded = functional.pad(values.permute(1, 2, 0), (3, 0))
    expected = functional.conv1d(padded, layer.weight, layer.bias, groups=3).permute(2, 0, 1)
    torch.testing.assert_close(layer(values), expected)


@torch.no_grad()
def test_a_signal_keeps_its_strength_through_many_layers() -> None:
    torch.manual_seed(0)
    network = TCN(dilations=(1, 2, 4, 8, 16, 32), hidden_size=64).build(TaskSpec(3, 128)).encoder
    assert 0.2 < float(network(torch.randn(128, 16, 1)).std()) < 5


def test_there_must_be_a_layer() -> None:
    with pytest.raises(ConfigError, match="tcn: dilations"):
        TCN(dilations=())
