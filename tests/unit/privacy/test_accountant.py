"""What rounds of training spend: closed forms, another way to count, published figures, and what must hold always."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from neuro_divergent.core.errors import InputError
from neuro_divergent.privacy.accountant import Rounds, compute_delta, compute_epsilon, find_noise_multiplier
from neuro_divergent.privacy.renyi import compute_renyi_epsilon

DELTA = 1e-5


def gaussian_delta(rounds: int, noise: float, epsilon: float) -> float:
    """Return delta of Gaussian noise without sampling (Balle and Wang, ICML 2018, theorem 8), composed."""
    mu = math.sqrt(rounds) / noise
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def gaussian_epsilon(rounds: int, noise: float, delta: float) -> float:
    return float(brentq(lambda epsilon: gaussian_delta(rounds, noise, epsilon) - delta, 0.0, 1e6))


@pytest.mark.parametrize(
    ("rounds", "noise"), [(1, 0.2), (1, 1.0), (10, 0.2), (10, 0.7), (50, 5.0), (100, 0.3), (1000, 0.2), (1000, 40.0)]
)
def test_epsilon_without_sampling_is_that_of_the_gaussian_mechanism(rounds: int, noise: float) -> None:
    exact = gaussian_epsilon(rounds, noise, DELTA)
    assert exact <= compute_epsilon(Rounds(1.0, noise, rounds), DELTA) <= 1.0005 * exact


@pytest.mark.parametrize(
    ("participation", "rounds", "noise", "epsilon"),
    [  # of the privacy loss distributions of Google's dp-accounting 0.6.0, at delta 1e-5
        (0.8, 50, 1.0, 42.55),
        (0.8, 50, 5.0, 5.119),
        (0.8, 50, 10.0, 2.302),
        (0.8, 50, 20.0, 1.064),
        (0.1, 50, 2.0, 1.653),
    ],
)
def test_epsilon_is_that_of_dp_accounting(participation: float, rounds: int, noise: float, epsilon: float) -> None:
    assert compute_epsilon(Rounds(participation, noise, rounds), DELTA) == pytest.approx(epsilon, rel=5e-4)


@pytest.mark.parametrize(
    ("participation", "rounds", "epsilon", "noise"),
    [(0.8, 10, 1.0, 9.55), (0.8, 20, 3.0, 5.06), (0.8, 50, 1.0, 21.15), (0.8, 100, 8.0, 4.84), (0.1, 50, 1.0, 2.93)],
)
def test_noise_for_a_budget_is_that_of_dp_accounting(
    participation: float, rounds: int, epsilon: float, noise: float
) -> None:
    found = find_noise_multiplier(epsilon=epsilon, delta=DELTA, participation=participation, rounds=rounds)
    assert found == pytest.approx(noise, rel=2e-3)
    assert compute_epsilon(Rounds(participation, found, rounds), DELTA) <= epsilon


def test_one_round_agrees_with_numerical_integration() -> None:
    chance, noise, epsilon = 0.3, 0.9, 0.7
    grid = np.linspace(-15.0, 16.0, 2_000_001)
    without = norm.pdf(grid, 0.0, noise)
    together = (1 - chance) * without + chance * norm.pdf(grid, 1.0, noise)
    exact = [
        float(np.trapezoid(np.maximum(first - math.exp(epsilon) * second, 0.0), grid))
        for first, second in ((together, without), (without, together))
    ]
    assert compute_delta(Rounds(chance, noise), epsilon) == pytest.approx(max(exact), rel=1e-4)


@settings(max_examples=15, deadline=None)
@given(
    participation=st.floats(0.001, 1.0),
    noise=st.floats(0.4, 50.0),
    rounds=st.integers(1, 2000),
    delta=st.sampled_from([1e-3, 1e-5, 1e-8]),
)
def test_epsilon_is_below_that_of_renyi_and_above_that_of_fewer_rounds_less_participation_or_more_noise(
    participation: float, noise: float, rounds: int, delta: float
) -> None:
    epsilon = compute_epsilon(Rounds(participation, noise, rounds), delta)
    assert 0.0 <= epsilon <= compute_renyi_epsilon(Rounds(participation, noise, rounds), delta) + 1e-6
    slack = 1e-3 * epsilon + 1e-6
    assert compute_epsilon(Rounds(participation, noise, max(rounds // 2, 1)), delta) <= epsilon + slack
    assert compute_epsilon(Rounds(participation / 2, noise, rounds), delta) <= epsilon + slack
    assert compute_epsilon(Rounds(participation, noise * 1.5, rounds), delta) <= epsilon + slack
    assert epsilon <= 1.001 * compute_epsilon(Rounds(1.0, noise, rounds), delta) + 1e-6


def test_rounds_of_several_kinds_add_up_to_those_of_one_kind() -> None:
    parts = [Rounds(0.8, 20.0, 10), Rounds(0.8, 20.0, 40)]
    assert compute_epsilon(parts, DELTA) == pytest.approx(compute_epsilon(Rounds(0.8, 20.0, 50), DELTA), rel=1e-9)
    without_sampling = [Rounds(1.0, 3.0, 4), Rounds(1.0, 5.0, 9)]  # as one with the sum of 1 / noise²
    exact = gaussian_epsilon(1, (4 / 9 + 9 / 25) ** -0.5, DELTA)
    assert exact <= compute_epsilon(without_sampling, DELTA) <= 1.0005 * exact


def test_delta_and_epsilon_are_inverse() -> None:
    rounds = Rounds(0.5, 2.0, 20)
    assert compute_delta(rounds, compute_epsilon(rounds, 1e-4)) == pytest.approx(1e-4, rel=1e-3)


def test_renyi_is_that_of_dp_accounting_for_moderate_noise() -> None:
    assert compute_renyi_epsilon(Rounds(0.8, 20.0, 50), DELTA) == pytest.approx(1.162, rel=2e-3)
    assert compute_renyi_epsilon(Rounds(0.1, 2.0, 50), DELTA) == pytest.approx(1.844, rel=5e-3)


def test_hardly_any_participation_or_enormous_noise_spends_nothing() -> None:
    assert compute_epsilon(Rounds(1e-6, 1.0), DELTA) == 0.0
    assert compute_epsilon(Rounds(1.0, 1e6), DELTA) == 0.0


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        (Rounds(0.0, 1.0), "participation: 0.0 is not a probability above 0"),
        (Rounds(1.1, 1.0), "participation: 1.1"),
        (Rounds(0.5, 0.1), "noise_multiplier: 0.1 is not from 0.2"),
        (Rounds(0.5, math.nan), "noise_multiplier: nan"),
        (Rounds(0.5, 1.0, 0), "number: 0 rounds"),
        ([], "rounds: there are none"),
    ],
)
def test_settings_outside_their_range_are_refused(rounds: Rounds | list[Rounds], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compute_epsilon(rounds, DELTA)


def test_budgets_outside_their_range_are_refused() -> None:
    with pytest.raises(InputError, match="delta: 0"):
        compute_epsilon(Rounds(0.5, 1.0), 0.0)
    with pytest.raises(InputError, match="epsilon: 0 is not above 0"):
        find_noise_multiplier(epsilon=0, delta=DELTA, participation=0.5, rounds=5)
    with pytest.raises(InputError, match="epsilon: -1"):
        compute_delta(Rounds(0.5, 1.0), -1)
