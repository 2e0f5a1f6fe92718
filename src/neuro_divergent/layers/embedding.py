"""Turning the steps of a series into tokens.

Letters: B batch, L time, F feature, D hidden.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.layers.dropout import Dropout


class CircularConvolution(nn.Module):
    """A convolution of width 3 over a time that closes to a ring, without bias.

    The weight has the layout of ``torch.nn.Conv1d``. The work is one matrix product, with the neighbours side by side
    before it or added up after it, whichever is less.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, 3))
        nn.init.kaiming_normal_(self.weight, nonlinearity="leaky_relu")

    def forward(self, values_BLF: Tensor) -> Tensor:
        outputs, inputs, width = self.weight.shape
        if inputs <= outputs:
            neighbours = torch.stack([values_BLF.roll(1, 1), values_BLF, values_BLF.roll(-1, 1)], 3)
            return functional.linear(neighbours.flatten(2), self.weight.flatten(1))
        products = functional.linear(values_BLF, self.weight.permute(2, 0, 1).reshape(width * outputs, inputs))
        before, here, after = products.chunk(width, 2)
        return before.roll(1, 1) + here + after.roll(-1, 1)


class ValueEmbedding(nn.Module):
    """Makes a token of the values of each step.

    The ``kind`` is a circular convolution over three steps, as in Informer, or a linear layer with bias.
    """

    def __init__(self, features: int, hidden_size: int, kind: Literal["convolution", "linear"] = "convolution") -> None:
        super().__init__()
        convolve = kind == "convolution"
        self.projection = CircularConvolution(features, hidden_size) if convolve else nn.Linear(features, hidden_size)

    def forward(self, values_BLF: Tensor) -> Tensor:
        tokens: Tensor = self.projection(values_BLF)
        return tokens


class PositionalEmbedding(nn.Module):
    """Adds a positional encoding to each token: fixed sinusoids (Vaswani et al., 2017) or learned ones."""

    positions: Tensor

    def __init__(self, steps: int, hidden_size: int, kind: Literal["sinusoidal", "learned"] = "sinusoidal") -> None:
        super().__init__()
        if kind == "learned":
            self.positions = nn.Parameter(torch.empty(steps, hidden_size).uniform_(-0.02, 0.02))
        else:
            self.register_buffer("positions", sinusoidal_positions(steps, hidden_size), persistent=False)

    def forward(self, tokens_BLD: Tensor) -> Tensor:
        return tokens_BLD + self.positions[: tokens_BLD.shape[-2]]


class SequenceEmbedding(nn.Module):
    """Sum of the embeddings of a step's values, its position and its covariates, as in Informer.

    Covariates go through a linear layer without bias. With 0 ``steps`` there is no positional encoding.
    """

    def __init__(self, values: int, covariates: int, hidden_size: int, *, steps: int, dropout: float) -> None:
        super().__init__()
        self.values = ValueEmbedding(values, hidden_size)
        self.positions = PositionalEmbedding(steps, hidden_size) if steps else nn.Identity()
        self.covariates = nn.Linear(covariates, hidden_size, bias=False) if covariates else None
        self.dropout = Dropout(dropout)

    def forward(self, values_BLF: Tensor, covariates_BLE: Tensor | None = None) -> Tensor:
        tokens = self.positions(self.values(values_BLF))
        if self.covariates is not None:
            tokens = tokens + self.covariates(covariates_BLE)
        result: Tensor = self.dropout(tokens)
        return result


def sinusoidal_positions(steps: int, hidden_size: int) -> Tensor:
    """Return ``(steps, hidden_size)``: sines and cosines in turn, of wavelengths from 2 pi to 10,000 times that."""
    pairs = torch.arange(0, hidden_size, 2, dtype=torch.float64)
    angle = torch.arange(steps, dtype=torch.float64)[:, None] * torch.exp(pairs * (-math.log(10000.0) / hidden_size))
    waves = torch.stack([angle.sin(), angle.cos()], 2).flatten(1)
    return waves[:, :hidden_size].to(torch.get_default_dtype())
