from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.layers.mlp import LinearChain, multilayer_perceptron


def test_activation_and_dropout_follow_each_layer_but_the_last() -> None:
    layers = multilayer_perceptron([3, 5, 6, 2], "Tanh", dropout=0.2)
    kinds = [nn.Linear, nn.Tanh, nn.Dropout, nn.Linear, nn.Tanh, nn.Dropout, nn.Linear]
    assert [type(layer) for layer in layers] == kinds
    assert [type(layer) for layer in multilayer_perceptron([3, 2])] == [nn.Linear]
    assert layers(torch.randn(4, 3)).shape == (4, 2)


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 50])
def test_chain_equals_one_layer_after_the_other(rows: int) -> None:
    torch.manual_seed(rows)
    first, second = nn.Linear(4, 6).double(), nn.Linear(6, 5).double()
    values = torch.randn(rows, 4, dtype=torch.float64, requires_grad=True)
    parameters = [values, *first.parameters(), *second.parameters()]
    chained, expected = LinearChain()(values, first, second), second(first(values))
    torch.testing.assert_close(chained, expected)
    weight = torch.randn_like(expected)
    for one, two in zip(
        torch.autograd.grad((chained * weight).sum(), parameters),
        torch.autograd.grad((expected * weight).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, two)


def test_a_kept_product_follows_the_weights() -> None:
    torch.manual_seed(0)
    first, second, chain = nn.Linear(4, 6), nn.Linear(6, 5), LinearChain()
    values = torch.randn(3, 4)

    def agree() -> bool:
        with torch.inference_mode():
            return torch.allclose(chain(values, first, second), second(first(values)), atol=1e-6)

    assert agree()
    with torch.no_grad():
        second.weight.mul_(2)
    assert agree()
    first.load_state_dict(nn.Linear(4, 6).state_dict())
    assert agree()
    second.bias.data = torch.ones(5)
    assert agree()
    first, second, values = first.double(), second.double(), values.double()
    assert agree()
