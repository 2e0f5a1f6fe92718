"""Multilayer perceptrons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.layers.activation import Activation, make_activation


def multilayer_perceptron(sizes: Sequence[int], activation: Activation = "ReLU", dropout: float = 0.0) -> nn.Sequential:
    """Return linear layers between the given sizes, with an activation and dropout after each but the last."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        if layers:
            layers += [make_activation(activation)] + ([nn.Dropout(dropout)] if dropout else [])
        layers.append(nn.Linear(inputs, outputs))
    return nn.Sequential(*layers)


def chain_linear(values: Tensor, first: nn.Linear, second: nn.Linear) -> Tensor:
    """Apply two linear layers that have no activation between them.

    Their weights are multiplied before they meet the values when that is less work, that is when there are more rows
    than inputs. The function and its gradients are the same; both layers stay parameters of their own.
    """
    if len(values) <= first.in_features:
        hidden: Tensor = first(values)
        result: Tensor = second(hidden)
        return result
    return functional.linear(values, second.weight @ first.weight, torch.mv(second.weight, first.bias) + second.bias)
