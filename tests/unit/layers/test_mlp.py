from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.mlp import linear_pair, multilayer_perceptron


def test_activation_and_dropout_follow_each_layer_but_the_last() -> None:
    layers = multilayer_perceptron([3, 5, 6, 2], "Tanh", dropout=0.2)
    kinds = [nn.Linear, nn.Tanh, Dropout, nn.Linear, nn.Tanh, Dropout, nn.Linear]
    assert [type(layer) for layer in layers] == kinds
    assert [type(layer) for layer in multilayer_perceptron([3, 2])] == [nn.Linear]
    assert layers(torch.randn(4, 3)).shape == (4, 2)


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 50])
def test_a_pair_is_one_layer_after_the_other(rows: int) -> None:
    torch.manual_seed(rows)
    first, second = nn.Linear(4, 6).double(), nn.Linear(6, 5).double()
    values = torch.randn(rows, 4, dtype=torch.float64, requires_grad=True)
    parameters = [values, *first.parameters(), *second.parameters()]
    chained, expected = linear_pair(values, first, second), second(first(values))
    torch.testing.assert_close(chained, expected)
    weight = torch.randn_like(expected)
    for one, two in zip(
        torch.autograd.grad((chained * weight).sum(), parameters),
        torch.autograd.grad((expected * weight).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, two)
