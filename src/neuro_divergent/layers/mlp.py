"""Multilayer perceptrons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.layers.activation import Activation, make_activation
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.export import has_rows
from neuro_divergent.layers.normalization import Normalization, make_norm


def multilayer_perceptron(
    sizes: Sequence[int],
    activation: Activation = "ReLU",
    dropout: float = 0.0,
    norm: Normalization | Literal["none"] = "none",
) -> nn.Sequential:
    """Return linear layers between the given sizes; after each but the last, a norm, an activation and dropout."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes[:-1]):
        # Batch normalisation removes the mean, so a bias before it would have no effect.
        layers.append(nn.Linear(inputs, outputs, bias=norm != "batch"))
        layers += [] if norm == "none" else [make_norm(norm, outputs)]
        layers += [make_activation(activation)] + ([Dropout(dropout)] if dropout else [])
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def linear_pair(values: Tensor, first: nn.Linear, second: nn.Linear) -> Tensor:
    """Apply two linear layers in sequence to ``(rows, inputs)``.

    There is no activation between them, so their weights are multiplied before they meet the values when that is less
    work, that is when there are more rows than inputs. The function and its gradients are the same.
    """
    if not has_rows(values, first.in_features + 1):
        result: Tensor = second(first(values))
        return result
    return functional.linear(values, *merge_pair(first, second))


def merge_pair(first: nn.Linear, second: nn.Linear) -> tuple[Tensor, Tensor]:
    """Return weight and bias of the one layer that two layers without an activation between them are."""
    return second.weight @ first.weight, torch.mv(second.weight, first.bias) + second.bias
