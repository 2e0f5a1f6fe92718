"""A lower bound on epsilon holds as often as it says, and comes close to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from neuro_divergent.privacy.accountant import Rounds, compute_epsilon
from neuro_divergent.privacy.audit_bound import (
    bound_epsilon,
    clopper_pearson,
    gaussian_epsilon,
    log_likelihood_ratio,
)

DELTA = 1e-5


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 10), (120, 1000)])
def test_clopper_pearson_is_that_of_scipy(successes: int, trials: int) -> None:
    found = clopper_pearson(successes, trials, 0.025)
    exact = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.3, 1.0, 4.0])
def test_epsilon_of_gaussian_noise_is_that_of_the_accountant(mu: float) -> None:
    assert compute_epsilon(Rounds(1.0, 1 / mu), DELTA) == pytest.approx(gaussian_epsilon(mu, DELTA), rel=1e-3)


def test_noise_that_hides_everything_has_an_epsilon_of_0() -> None:
    assert gaussian_epsilon(0.0, DELTA) == gaussian_epsilon(1e-7, DELTA) == 0.0


def test_log_likelihood_ratio_is_that_of_the_densities() -> None:
    values = np.random.default_rng(0).normal(size=(3, 7))
    together = 0.7 * norm.pdf(values, 0.0, 2.0) + 0.3 * norm.pdf(values, 1.0, 2.0)
    expected = np.log(together / norm.pdf(values, 0.0, 2.0)).sum(axis=1)
    assert log_likelihood_ratio(values, 0.3, 2.0) == pytest.approx(expected)
    certain = np.log(norm.pdf(values, 1.0, 2.0) / norm.pdf(values, 0.0, 2.0)).sum(axis=1)
    assert log_likelihood_ratio(values, 1.0, 2.0) == pytest.approx(certain)


@pytest.mark.parametrize("mu", [0.27, 1.0, 3.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bound_of_gaussian_scores_holds_and_comes_close(mu: float, sign: float) -> None:
    generator = np.random.default_rng(1)
    truth = gaussian_epsilon(mu, DELTA)
    bounds = np.array(
        [
            bound_epsilon(sign * generator.normal(mu, size=3000), sign * generator.normal(size=3000), delta=DELTA)
            for _ in range(60)
        ]
    )
    assert (bounds > truth).sum() <= 3
    assert np.median(bounds) > 0.6 * truth


def test_bound_for_any_mechanism_holds_for_randomized_response() -> None:
    generator = np.random.default_rng(2)
    chance = np.exp(1.0) / (1 + np.exp(1.0))
    bounds = [
        bound_epsilon(
            (generator.random(3000) < chance).astype(np.float64),
            (generator.random(3000) < 1 - chance).astype(np.float64),
            delta=0.0,
            is_gaussian=False,
        )
        for _ in range(60)
    ]
    assert sum(bound > 1.0 for bound in bounds) <= 3
    assert np.median(bounds) > 0.85


def test_bound_of_equal_scores_is_0() -> None:
    assert bound_epsilon(np.zeros(500), np.zeros(500), delta=DELTA) == 0.0


def test_bound_of_scores_that_never_overlap_is_large_and_grows_with_their_number() -> None:
    small, large = (bound_epsilon(np.ones(size), np.zeros(size), delta=DELTA) for size in (200, 5000))
    assert 5.0 < small < large < np.inf
