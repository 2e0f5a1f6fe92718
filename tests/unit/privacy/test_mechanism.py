"""One round: who takes part, what each may contribute, and what is released."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, chisquare, kstest

import neuro_divergent.privacy.mechanism as mechanism_module
from neuro_divergent.core.errors import InputError
from neuro_divergent.privacy.accountant import Rounds
from neuro_divergent.privacy.mechanism import Mechanism

NAMES = [f"client-{number}" for number in range(6)]


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism_module, "draw_normal", np.zeros)


def test_sampling_draws_each_client_independently() -> None:
    mechanism = Mechanism(1.0, 1.0, 0.7, len(NAMES))
    draws = [mechanism.sample(NAMES) for _ in range(4000)]
    counts = np.bincount([len(drawn) for drawn in draws], minlength=7)
    assert chisquare(counts, 4000 * binom.pmf(np.arange(7), 6, 0.7)).pvalue > 1e-6
    matrix = np.array([[name in drawn for name in NAMES] for drawn in draws])
    assert np.abs(matrix.mean(axis=0) - 0.7).max() < 6 * (0.21 / 4000) ** 0.5
    assert np.abs(np.corrcoef(matrix.T) - np.eye(6)).max() < 6 / 4000**0.5


def test_sampling_with_full_participation_draws_all_in_order() -> None:
    assert Mechanism(1.0, 1.0, 1.0, 6).sample(NAMES) == NAMES
    assert Mechanism(1.0, 1.0, 0.5, 6).sample([]) == []


def test_sampling_ignores_seeds() -> None:
    names = [str(number) for number in range(100)]
    draws = []
    for _ in range(2):
        torch.manual_seed(0)
        draws.append(Mechanism(1.0, 1.0, 0.5, 100).sample(names))
    assert draws[0] != draws[1]


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, 5, elements=st.floats(width=64)), st.floats(1e-3, 1e3))
def test_clipped_vectors_are_finite_and_no_longer_than_the_clip_norm(vector: np.ndarray, norm: float) -> None:
    clipped = Mechanism(norm, 1.0, 1.0, 1).clip(torch.from_numpy(vector))
    assert clipped.dtype == torch.float64
    assert float(clipped.norm()) <= norm * (1 + 1e-12)


def test_clipping_keeps_direction_and_leaves_short_vectors_alone() -> None:
    mechanism = Mechanism(1.0, 1.0, 1.0, 1)
    assert mechanism.clip(torch.tensor([3.0, -4.0])).tolist() == pytest.approx([0.6, -0.8])
    assert mechanism.clip(torch.tensor([0.5, 0.0])).tolist() == [0.5, 0.0]
    assert mechanism.clip(torch.zeros(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200])
def test_vectors_whose_norm_is_not_finite_contribute_zero(value: float, no_noise: None) -> None:
    poisoned = torch.tensor([1.0, value], dtype=torch.float64)
    mechanism = Mechanism(10.0, 1.0, 1.0, 2)
    assert mechanism.clip(poisoned).tolist() == [0.0, 0.0]
    assert mechanism.release([poisoned, torch.ones(2, dtype=torch.float64)]).tolist() == [0.5, 0.5]


def test_clipping_accepts_low_precision_and_gradients() -> None:
    vector = torch.tensor([6.0, 8.0], dtype=torch.bfloat16, requires_grad=True)
    assert Mechanism(5.0, 1.0, 1.0, 1).clip(vector).tolist() == [3.0, 4.0]


def test_release_divides_by_the_expected_number_whoever_came(no_noise: None) -> None:
    mechanism = Mechanism(1.0, 1.0, 0.5, 8)
    unit = torch.tensor([1.0, 0.0])
    for number in (1, 4, 8):
        assert mechanism.release([unit] * number).tolist() == [number / 4, 0.0]


def test_release_in_blocks_equals_that_at_once(no_noise: None, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Mechanism(0.7, 1.0, 0.5, 8)
    vectors = list(torch.randn(7, 10))
    expected = mechanism.release(vectors)
    monkeypatch.setattr(mechanism_module, "_BLOCK", 30)
    torch.testing.assert_close(mechanism.release(vectors), expected)


def test_released_noise_has_the_standard_deviation_that_was_announced() -> None:
    mechanism = Mechanism(2.0, 3.0, 0.5, 4)
    noise = mechanism.release([], size=50_000).numpy()
    assert kstest(noise / (3.0 * 2.0 / 2.0), "norm").pvalue > 1e-6
    assert np.linalg.norm(noise) / 2.0 == pytest.approx(mechanism.noise_ratio(50_000), rel=0.03)
    again = mechanism.release([], size=50_000).numpy()
    assert not np.isin(noise, again).any()


def test_release_without_vectors_needs_a_size() -> None:
    with pytest.raises(InputError, match="size: needed"):
        Mechanism(1.0, 1.0, 1.0, 1).release([])


@pytest.mark.parametrize("vector", [torch.zeros(3), torch.zeros(1, 2), torch.tensor(1.0)])
def test_release_refuses_vectors_of_another_shape(vector: torch.Tensor) -> None:
    with pytest.raises(InputError, match=r"\(2,\) is accepted"):
        Mechanism(1.0, 1.0, 1.0, 1).release([torch.zeros(2), vector])


def test_mechanism_tells_the_accountant_its_rounds() -> None:
    assert Mechanism(1.0, 3.0, 0.5, 4).rounds(7) == Rounds(0.5, 3.0, 7)
    assert Mechanism(1.0, 3.0, 0.5, 4).rounds() == Rounds(0.5, 3.0, 1)


@pytest.mark.parametrize(("parameters", "clients", "ratio"), [(588, 100, 6.4), (588, 1000, 0.64), (3020, 100, 14.5)])
def test_noise_ratio_is_that_of_the_rule_of_thumb(parameters: int, clients: int, ratio: float) -> None:
    assert Mechanism(1.0, 21.15, 0.8, clients).noise_ratio(parameters) == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1.0, 0.5, 1), "clip_norm: 0.0"),
        ((math.nan, 1.0, 0.5, 1), "clip_norm: nan"),
        ((1.0, math.inf, 0.5, 1), "noise_multiplier: inf"),
        ((1.0, 1.0, 0.0, 1), "participation: 0.0"),
        ((1.0, 1.0, 1.5, 1), "participation: 1.5"),
        ((1.0, 1.0, 0.5, 0), "num_clients: 0"),
    ],
)
def test_mechanisms_outside_their_range_are_refused(arguments: tuple[float, float, float, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Mechanism(*arguments)
