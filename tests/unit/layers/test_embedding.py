from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from neuro_divergent.layers.embedding import (
    CircularConvolution,
    PositionalEmbedding,
    SequenceEmbedding,
    ValueEmbedding,
    sinusoidal_positions,
)


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 6), (4, 4), (7, 2)])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_circular_convolution_is_torchs(inputs: int, outputs: int, steps: int) -> None:
    torch.manual_seed(0)
    convolution, values = CircularConvolution(inputs, outputs), torch.randn(3, steps, inputs)
    ring = functional.pad(values.transpose(1, 2), (1, 1), mode="circular")
    expected = functional.conv1d(ring, convolution.weight).transpose(1, 2)
    torch.testing.assert_close(convolution(values), expected)


@pytest.mark.parametrize("hidden_size", [1, 5, 8])
def test_positions_are_waves(hidden_size: int) -> None:
    table = sinusoidal_positions(30, hidden_size)
    for step in (0, 1, 29):
        for place in range(hidden_size):
            angle = step / 10000 ** ((place - place % 2) / hidden_size)
            expected = math.cos(angle) if place % 2 else math.sin(angle)
            assert table[step, place].item() == pytest.approx(expected, abs=1e-6)


def test_positions_are_learned_or_fixed_and_fit_fewer_tokens() -> None:
    tokens = torch.randn(2, 3, 4)
    fixed, learned = PositionalEmbedding(5, 4), PositionalEmbedding(5, 4, "learned")
    assert not list(fixed.parameters())
    assert not fixed.state_dict()
    assert learned.positions.requires_grad
    torch.testing.assert_close(fixed(tokens), tokens + sinusoidal_positions(5, 4)[:3])
    torch.testing.assert_close(learned(tokens), tokens + learned.positions[:3])


def test_value_embedding_can_be_linear() -> None:
    embedding, values = ValueEmbedding(3, 4, "linear"), torch.randn(2, 5, 3)
    assert isinstance(embedding.projection, nn.Linear)
    torch.testing.assert_close(embedding(values), embedding.projection(values))


@pytest.mark.parametrize("steps", [0, 5])
@pytest.mark.parametrize("covariates", [0, 3])
def test_sequence_embedding_is_a_sum(steps: int, covariates: int) -> None:
    embedding = SequenceEmbedding(1, covariates, 4, steps=steps, dropout=0.0)
    values, known = torch.randn(2, 5, 1), torch.randn(2, 5, covariates) if covariates else None
    expected = embedding.values(values)
    expected = expected + sinusoidal_positions(5, 4) if steps else expected
    if embedding.covariates is not None:
        assert known is not None
        expected = expected + known @ embedding.covariates.weight.T
    torch.testing.assert_close(embedding(values, known), expected)
