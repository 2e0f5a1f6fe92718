from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.normalization import BatchNorm, make_norm
from neuro_divergent.models.nhits import NHITS


@pytest.mark.parametrize("shape", [(32, 4), (8, 5, 4), (2, 3, 5, 4)])
def test_batch_norm_standardises_the_last_axis_over_all_others(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    norm, values = make_norm("batch", 4), torch.randn(shape) * 7 + 3
    output = norm(values)
    rows = values.flatten(0, -2)
    expected = (rows - rows.mean(0)) / (rows.var(0, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(output, expected.view(shape))
    assert isinstance(norm, BatchNorm)
    torch.testing.assert_close(norm.running_mean, 0.1 * rows.mean(0))
    torch.testing.assert_close(norm.running_var, 0.9 + 0.1 * rows.var(0))
    norm.eval()
    expected = (rows - norm.running_mean) / (norm.running_var + 1e-5).sqrt()
    torch.testing.assert_close(norm(values), expected.view(shape))


@pytest.mark.parametrize("shape", [(1, 4), (1, 1, 4)])
def test_a_single_row_is_normalised_by_the_running_statistics(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    norm = BatchNorm(4)
    for _ in range(20):
        norm(torch.randn(64, 4) * 2 + 3)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    values = torch.randn(shape)
    in_training = norm(values)
    assert all(torch.equal(value, before[name]) for name, value in norm.state_dict().items())
    torch.testing.assert_close(in_training, norm.eval()(values))


def test_layer_norm_is_torchs() -> None:
    assert type(make_norm("layer", 4)) is nn.LayerNorm


def test_a_norm_stands_between_a_layer_and_its_activation() -> None:
    layers = multilayer_perceptron([3, 5, 6, 2], "Tanh", dropout=0.2, norm="layer")
    hidden = [nn.Linear, nn.LayerNorm, nn.Tanh, Dropout]
    assert [type(layer) for layer in layers] == [*hidden, *hidden, nn.Linear]
    assert all(layer.bias is not None for layer in layers if isinstance(layer, nn.Linear))


def test_no_bias_is_spent_before_a_batch_norm() -> None:
    layers = multilayer_perceptron([3, 5, 6, 2], norm="batch")
    biases = [layer.bias is not None for layer in layers if isinstance(layer, nn.Linear)]
    assert biases == [False, False, True]


def test_an_activation_may_overwrite_a_norm() -> None:
    torch.manual_seed(0)
    for norm in ("batch", "layer"):
        layers = multilayer_perceptron([3, 5, 2], "ReLU", norm=norm).double()
        values = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(layers, values)


def test_residual_blocks_normalise_each_layer_with_an_activation() -> None:
    for norm, kind in (("batch", BatchNorm), ("layer", nn.LayerNorm)):
        network = NHITS(norm=norm, hidden_size=8, num_layers=2, num_blocks=2).build(TaskSpec(4, 8))
        assert sum(isinstance(part, kind) for part in network.modules()) == 3 * 2 * 2
    assert not any(isinstance(part, (BatchNorm, nn.LayerNorm)) for part in NHITS().build(TaskSpec(4, 8)).modules())
