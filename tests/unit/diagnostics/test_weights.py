"""Weights: distributions against numpy, effective ranks against closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from neuro_divergent.diagnostics import weights
from neuro_divergent.diagnostics.weights import describe_weights, effective_rank


class Holder(nn.Module):
    """Parameters by name."""

    def __init__(self, **tensors: torch.Tensor) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_parameter(name, nn.Parameter(tensor))


def test_rank_of_a_matrix_with_equal_singular_values_is_full() -> None:
    orthogonal = torch.linalg.qr(torch.randn(20, 20, generator=torch.Generator().manual_seed(0))).Q
    assert effective_rank(orthogonal) == pytest.approx(20, rel=1e-5)
    assert effective_rank(3 * orthogonal[:7]) == pytest.approx(7, rel=1e-5)


def test_the_rank_of_a_product_of_vectors_is_one() -> None:
    assert effective_rank(torch.outer(torch.arange(1.0, 40), torch.arange(1.0, 20))) == pytest.approx(1, abs=1e-3)


def test_the_rank_is_the_exponential_of_the_entropy_of_the_singular_values() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    assert effective_rank(torch.diag(torch.tensor(10 * shares))) == pytest.approx(
        np.exp(-(shares * np.log(shares)).sum())
    )


def test_what_has_no_singular_values_has_no_rank() -> None:
    assert effective_rank(torch.zeros(3, 4)) is None
    assert effective_rank(torch.tensor([[1.0, torch.nan], [0.0, 1.0]])) is None


def test_distributions_are_those_of_numpy() -> None:
    values = torch.randn(50, 30, generator=torch.Generator().manual_seed(1))
    values[0] = 0
    (row,) = describe_weights(Holder(weight=values))
    plain = values.numpy().astype(np.float64)
    expected = {
        "mean": plain.mean(), "std": plain.std(), "norm": np.linalg.norm(plain),
        "low": plain.min(), "high": plain.max(), "zero_share": 30 / 1500,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-5, abs=1e-7)
    counts, edges = np.histogram(plain, 40)
    assert row["edges"] == pytest.approx(edges)
    assert row["counts"] == pytest.approx(counts, abs=1)  # a number at an edge may fall to either side
    assert sum(row["counts"]) == 1500


def test_kernels_of_convolutions_are_matrices_of_their_outputs() -> None:
    (weight, bias) = describe_weights(nn.Conv1d(3, 8, 5))
    assert weight["shape"] == [8, 3, 5]
    assert weight["rank_share"] == pytest.approx(weight["effective_rank"] / 8)
    assert bias["effective_rank"] is None


def test_equal_nan_and_infinite_weights_are_described() -> None:
    odd = torch.tensor([1.0, torch.nan, torch.inf, 3.0])
    rows = describe_weights(Holder(ones=torch.ones(6), odd=odd, lost=odd[1:2], none=torch.zeros(0, 3)))
    json.dumps(rows, allow_nan=False)
    ones, mixed, lost, none = rows
    assert (ones["std"], ones["low"], sum(ones["counts"])) == (0, 1, 6)
    assert (mixed["mean"], mixed["high"], sum(mixed["counts"])) == (2, 3, 2)
    assert lost["mean"] is None is none["mean"]


def test_matrices_that_would_take_too_long_have_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Holder(first=torch.ones(10, 20), second=torch.ones(10, 20), third=torch.ones(2, 2))
    monkeypatch.setattr(weights, "_MOST_WORK", 2500)
    assert [row["effective_rank"] is None for row in describe_weights(wide)] == [False, True, False]
    monkeypatch.setattr(weights, "_LARGEST_SIDE", 9)
    assert [row["effective_rank"] is None for row in describe_weights(wide)] == [True, True, False]


def test_frozen_weights_are_marked() -> None:
    layer = nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    assert [row["trained"] for row in describe_weights(layer)] == [True, False]
