from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.layers.wavelet import Multiwavelet, WaveletAttention, WaveletMixing, legendre_filters


def values(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("polynomials", [1, 2, 3, 8])
def test_filters_are_orthogonal(polynomials: int) -> None:
    filters = legendre_filters(polynomials)
    torch.testing.assert_close(filters @ filters.T, torch.eye(2 * polynomials), atol=1e-6, rtol=0)


def test_one_polynomial_is_the_haar_wavelet() -> None:
    root = 0.5**0.5
    torch.testing.assert_close(legendre_filters(1), torch.tensor([[root, root], [-root, root]]))


@pytest.mark.parametrize("polynomials", [2, 4])
def test_a_polynomial_has_no_details(polynomials: int) -> None:
    # The coefficients of x on [0, 1) and on its halves, worked out by hand: x = 1/2 + (2x - 1) / 2.
    root = 3**-0.5
    halves = torch.zeros(1, 1, 2, polynomials)
    halves[..., 0, :2] = torch.tensor([1 / 4, root / 4]) / 2**0.5
    halves[..., 1, :2] = torch.tensor([3 / 4, root / 4]) / 2**0.5
    whole = torch.zeros(polynomials)
    whole[:2] = torch.tensor([1 / 2, root / 2])
    detail, coarse = Multiwavelet(polynomials)(halves)
    torch.testing.assert_close(detail, torch.zeros(1, 1, 1, polynomials), atol=1e-6, rtol=0)
    torch.testing.assert_close(coarse[0, 0, 0], whole, atol=1e-6, rtol=0)


@pytest.mark.parametrize("polynomials", [1, 4, 8])
def test_all_levels_give_back_the_series(polynomials: int) -> None:
    wavelet, series = Multiwavelet(polynomials), values(3, 2, 32, polynomials)
    coarse, details = series, []
    while coarse.shape[2] > 1:
        detail, coarse = wavelet(coarse)
        details.append(detail)
    energy = sum(part.square().sum() for part in (*details, coarse))
    torch.testing.assert_close(energy, series.square().sum())
    for detail in reversed(details):
        coarse = wavelet.merge(detail, coarse)
    torch.testing.assert_close(coarse, series, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 7, 16])
def test_mixing_that_changes_nothing_is_the_identity(steps: int) -> None:
    mixing, series = WaveletMixing(2, 4, steps, modes=64), values(3, 2, steps, 4)
    with torch.no_grad():
        nn.init.eye_(mixing.coarsest.weight)
        nn.init.zeros_(mixing.coarsest.bias)
        for part in (mixing.coarse, mixing.carried):
            nn.init.zeros_(part.weights.weight)
        mixing.detail.weights.weight.copy_(torch.stack([torch.eye(8), torch.zeros(8, 8)], -1))
    torch.testing.assert_close(mixing(series), series, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("score", ["tanh", "softmax"])
@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (7, 12), (12, 5), (1, 1)])
def test_attention_gives_a_value_for_each_query(queries: int, keys: int, score: str) -> None:
    attention = WaveletAttention(4, 8, score)  # type: ignore[arg-type]
    found = attention(values(3, 2, queries, 4), values(3, 2, keys, 4, seed=1), values(3, 2, keys, 4, seed=2))
    assert found.shape == (3, 2, queries, 4)
    assert found.isfinite().all()


def test_attention_is_linear_in_the_values() -> None:
    attention = WaveletAttention(4, 8, "softmax")
    query, key, one, two = (values(3, 2, 6, 4, seed=seed) for seed in range(4))
    together = attention(query, key, one + 2 * two)
    torch.testing.assert_close(
        together, attention(query, key, one) + 2 * attention(query, key, two), atol=1e-5, rtol=1e-5
    )
