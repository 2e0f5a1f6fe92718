"""Activations by their torch names."""

from __future__ import annotations

from typing import Literal

from torch import nn

Activation = Literal[
    "ReLU", "LeakyReLU", "PReLU", "ELU", "SELU", "GELU", "SiLU", "Mish", "Softplus", "Tanh", "Sigmoid", "Identity"
]
# Their derivative follows from their output, so overwriting the input costs autograd nothing and saves a buffer.
_OVERWRITING = frozenset({"ReLU", "LeakyReLU", "ELU", "SELU"})


def make_activation(name: Activation) -> nn.Module:
    """Return a fresh activation that may overwrite its input; give it the output of a linear layer, not a leaf."""
    kind = getattr(nn, name)
    module: nn.Module = kind(inplace=True) if name in _OVERWRITING else kind()
    return module
