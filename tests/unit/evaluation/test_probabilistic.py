"""Probabilistic scores against closed forms, loops in plain Python and what must not change them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation import metrics, probabilistic

RANDOM = np.random.default_rng(3)
ACTUAL = RANDOM.normal(2.0, 3.0, (5, 4))
OBSERVED = RANDOM.random((5, 4)) < 0.7
NOTHING = np.zeros((5, 4), bool)
SHARES = (0.05, 0.3, 0.5, 0.9)
draws = arrays.arrays(np.float64, (2, 3, 6), elements=st.integers(-20, 20).map(float))
truths = arrays.arrays(np.float64, (2, 3), elements=st.integers(-20, 20).map(float))


def normal_crps(actual: Floats, mean: float, deviation: float) -> float:
    """Closed form of Gneiting et al. (2005)."""
    z = (actual - mean) / deviation
    score = deviation * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / math.sqrt(math.pi))
    return float(score.mean())


def spoilt(values: Floats) -> Floats:
    """Return values of which none is usable outside of the mask."""
    mask = OBSERVED.reshape(*OBSERVED.shape, *[1] * (values.ndim - 2))
    return np.where(mask, values, np.nan)


def test_pinball_against_a_loop() -> None:
    quantile = RANDOM.normal(size=(5, 4))
    for share in SHARES:
        costs = [
            share * (value - guess) if value > guess else (1 - share) * (guess - value)
            for value, guess in zip(ACTUAL.ravel(), quantile.ravel(), strict=True)
        ]
        assert probabilistic.pinball(ACTUAL, quantile, share) == pytest.approx(sum(costs) / 20)
    assert probabilistic.pinball(ACTUAL, quantile, 0.5) == pytest.approx(metrics.mae(ACTUAL, quantile) / 2)


def test_pinball_is_lowest_at_the_quantile() -> None:
    values = RANDOM.normal(size=(1, 20_001))
    guesses = np.linspace(-3, 3, 601)
    for share in SHARES:
        costs = [probabilistic.pinball(values, np.full(values.shape, guess), share) for guess in guesses]
        assert guesses[np.argmin(costs)] == pytest.approx(np.quantile(values, share), abs=0.011)


def test_crps_of_quantiles_of_a_normal_comes_to_the_closed_form() -> None:
    expected = normal_crps(ACTUAL, 1.0, 2.0)
    errors = []
    for count in (10, 100, 1000):
        shares = (np.arange(count) + 0.5) / count
        quantiles = {float(share): np.full(ACTUAL.shape, stats.norm.ppf(share, 1, 2)) for share in shares}
        errors.append(abs(probabilistic.crps_quantiles(ACTUAL, quantiles) - expected))
    assert errors[0] < 0.02
    assert errors[1] < errors[0] / 20
    assert errors[2] < errors[1] / 20


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        (np.arange(1, 100) / 100, 0.570),
        (np.arange(10) / 10 + 0.05, 0.568),
        (np.arange(1, 10) / 10, 0.617),
        (np.array([0.1, 0.9]), 0.351),
    ],
)
def test_how_far_few_quantiles_are_from_the_crps_is_as_documented(shares: Floats, expected: float) -> None:
    # Values at the quantiles of many even shares stand for draws from the distribution.
    values = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)[None]
    quantiles = {float(share): np.full(values.shape, stats.norm.ppf(share)) for share in shares}
    assert probabilistic.crps_quantiles(values, quantiles) == pytest.approx(expected, abs=6e-4)
    assert f"{expected:.3f}" in (probabilistic.crps_quantiles.__doc__ or "")


def test_crps_of_draws_from_a_normal_comes_to_the_closed_form() -> None:
    # Even quantiles instead of random draws: no luck is involved.
    drawn = stats.norm.ppf((np.arange(4000) + 0.5) / 4000, 1, 2)
    samples = np.broadcast_to(drawn, (*ACTUAL.shape, 4000))
    assert probabilistic.crps_samples(ACTUAL, samples) == pytest.approx(normal_crps(ACTUAL, 1.0, 2.0), rel=1e-4)


def test_the_three_crps_agree_for_a_normal() -> None:
    count = 2000
    shares = (np.arange(count) + 0.5) / count
    drawn = stats.norm.ppf(shares, 1, 2)
    from_samples = probabilistic.crps_samples(ACTUAL, np.broadcast_to(drawn, (*ACTUAL.shape, count)))
    quantiles = {float(share): np.full(ACTUAL.shape, value) for share, value in zip(shares, drawn, strict=True)}
    assert from_samples == pytest.approx(probabilistic.crps_quantiles(ACTUAL, quantiles), rel=1e-4)
    assert from_samples == pytest.approx(normal_crps(ACTUAL, 1.0, 2.0), rel=1e-4)


@pytest.mark.parametrize("fair", [False, True])
def test_crps_of_draws_against_a_loop(fair: bool) -> None:
    samples = RANDOM.normal(size=(5, 4, 7))
    scores = []
    for value, drawn in zip(ACTUAL.ravel(), samples.reshape(-1, 7), strict=True):
        spread = sum(abs(a - b) for a in drawn for b in drawn) / (7 * 6 if fair else 7 * 7)
        scores.append(sum(abs(a - value) for a in drawn) / 7 - spread / 2)
    assert probabilistic.crps_samples(ACTUAL, samples, fair=fair) == pytest.approx(sum(scores) / 20)


def test_the_fair_scores_do_not_depend_on_the_number_of_draws() -> None:
    values, many = RANDOM.normal(size=(20_000, 2)), RANDOM.normal(size=(20_000, 2, 3))
    for score in (probabilistic.crps_samples, probabilistic.energy_score):
        few = score(values, many[..., :2], fair=True)
        assert few == pytest.approx(score(values, many, fair=True), abs=0.02)
        assert score(values, many[..., :2]) > few + 0.2
    # The expected score of a standard Normal under itself is 1 / sqrt(pi).
    assert probabilistic.crps_samples(values, many, fair=True) == pytest.approx(1 / math.sqrt(math.pi), abs=0.015)


def test_one_draw_is_a_point_and_has_no_fair_score() -> None:
    samples = RANDOM.normal(size=(5, 4, 1))
    assert probabilistic.crps_samples(ACTUAL, samples) == pytest.approx(metrics.mae(ACTUAL, samples[..., 0]))
    assert math.isnan(probabilistic.crps_samples(ACTUAL, samples, fair=True))
    assert math.isnan(probabilistic.energy_score(ACTUAL, samples, fair=True))


@pytest.mark.parametrize("fair", [False, True])
def test_energy_score_against_a_loop(fair: bool) -> None:
    samples = RANDOM.normal(size=(5, 4, 7))
    scores = []
    for value, seen, drawn in zip(ACTUAL, OBSERVED, samples, strict=True):
        if not seen.any():
            continue
        paths = [drawn[seen, index] for index in range(7)]
        spread = sum(math.dist(a, b) for a in paths for b in paths) / (7 * 6 if fair else 7 * 7)
        scores.append(sum(math.dist(a, value[seen]) for a in paths) / 7 - spread / 2)
    found = probabilistic.energy_score(spoilt(ACTUAL), spoilt(samples), OBSERVED, fair=fair)
    assert found == pytest.approx(sum(scores) / len(scores))


def test_energy_score_in_pieces_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = RANDOM.normal(size=(5, 4, 7))
    whole = probabilistic.energy_score(ACTUAL, samples)
    monkeypatch.setattr(probabilistic, "_TOGETHER", 21)  # one window and three draws at a time
    assert probabilistic.energy_score(ACTUAL, samples) == pytest.approx(whole)


def test_energy_score_of_one_step_is_the_crps() -> None:
    samples = RANDOM.normal(1e6, 1, size=(20, 1, 9))
    actual = RANDOM.normal(1e6, 1, size=(20, 1))
    assert probabilistic.energy_score(actual, samples) == pytest.approx(probabilistic.crps_samples(actual, samples))


def test_energy_score_depends_on_the_correlation_of_steps() -> None:
    walks = np.cumsum(RANDOM.normal(size=(300, 12, 100)), axis=1)
    actual = np.cumsum(RANDOM.normal(size=(300, 12)), axis=1)
    apart = RANDOM.permuted(walks, axis=-1)  # the same draws for each step, in another order
    assert probabilistic.crps_samples(actual, apart) == pytest.approx(probabilistic.crps_samples(actual, walks))
    assert probabilistic.energy_score(actual, walks) < probabilistic.energy_score(actual, apart)


def test_winkler_against_a_loop() -> None:
    lower, upper = ACTUAL.mean() - 1 + 0 * ACTUAL, ACTUAL.mean() + 2 + 0 * ACTUAL
    scores = []
    for value, low, high in zip(ACTUAL.ravel(), lower.ravel(), upper.ravel(), strict=True):
        score = high - low
        if value < low:
            score += 2 / 0.2 * (low - value)
        elif value > high:
            score += 2 / 0.2 * (value - high)
        scores.append(score)
    assert min(scores) == pytest.approx(3)
    assert max(scores) > 4  # values inside and outside
    assert probabilistic.winkler(ACTUAL, lower, upper, 80) == pytest.approx(sum(scores) / 20)


def test_winkler_is_the_scaled_pinball_loss_of_both_bounds() -> None:
    lower, upper = RANDOM.normal(-2, 1, ACTUAL.shape), RANDOM.normal(5, 1, ACTUAL.shape)
    ends = probabilistic.pinball(ACTUAL, lower, 0.05) + probabilistic.pinball(ACTUAL, upper, 0.95)
    assert probabilistic.winkler(ACTUAL, lower, upper, 90) == pytest.approx(2 / 0.1 * ends)


def test_calibration() -> None:
    actual = np.arange(10.0)[None]
    quantiles = {0.2: np.full((1, 10), 1.0), 0.5: np.full((1, 10), 6.5), 0.9: np.full((1, 10), 20.0)}
    assert probabilistic.calibration(actual, quantiles[0.2]) == 20.0  # a value on the quantile is below it
    assert probabilistic.calibration_error(actual, quantiles) == pytest.approx((0 + 20 + 10) / 3)


def test_log_score_of_a_normal_against_scipy() -> None:
    mean, deviation = RANDOM.normal(size=ACTUAL.shape), RANDOM.uniform(0.1, 3, ACTUAL.shape)
    density = stats.norm.logpdf(ACTUAL, mean, deviation)
    assert probabilistic.normal_log_score(ACTUAL, mean, deviation) == pytest.approx(-density.mean())
    assert probabilistic.log_score(density) == pytest.approx(-density.mean())
    found = probabilistic.normal_log_score(spoilt(ACTUAL), mean, spoilt(deviation), OBSERVED)
    assert found == pytest.approx(-density[OBSERVED].mean())
    assert math.isnan(probabilistic.normal_log_score(ACTUAL, mean, 0 * deviation))


def test_scaled_crps_is_in_percent_of_actual_values() -> None:
    quantiles = {share: RANDOM.normal(size=ACTUAL.shape) for share in SHARES}
    expected = 100 * probabilistic.crps_quantiles(ACTUAL, quantiles) / np.abs(ACTUAL).mean()
    assert probabilistic.scaled_crps(ACTUAL, quantiles) == pytest.approx(expected)
    assert math.isnan(probabilistic.scaled_crps(0 * ACTUAL, quantiles))


def test_unobserved_values_are_left_out() -> None:
    quantiles = {share: RANDOM.normal(size=ACTUAL.shape) for share in SHARES}
    samples, lower, upper = RANDOM.normal(size=(5, 4, 6)), ACTUAL - 1, ACTUAL + RANDOM.normal(size=ACTUAL.shape)
    seen, bad = ACTUAL[OBSERVED], spoilt(ACTUAL)
    kept = {share: values[OBSERVED] for share, values in quantiles.items()}
    for score in (probabilistic.crps_quantiles, probabilistic.scaled_crps, probabilistic.calibration_error):
        hidden = {share: spoilt(values) for share, values in quantiles.items()}
        assert score(bad, hidden, OBSERVED) == pytest.approx(score(seen, kept))
        assert math.isnan(score(bad, hidden, NOTHING))
    found = probabilistic.crps_samples(bad, spoilt(samples), OBSERVED)
    assert found == pytest.approx(probabilistic.crps_samples(seen, samples[OBSERVED]))
    found = probabilistic.winkler(bad, spoilt(lower), upper, 80, OBSERVED)
    assert found == pytest.approx(probabilistic.winkler(seen, lower[OBSERVED], upper[OBSERVED], 80))
    assert math.isnan(probabilistic.crps_samples(bad, samples, NOTHING))
    assert math.isnan(probabilistic.energy_score(bad, samples, NOTHING))
    assert math.isnan(probabilistic.log_score(bad, NOTHING))


@given(truths, draws, st.sampled_from([2.0, 0.5]), st.integers(-100, 100), st.booleans())
@settings(max_examples=50, deadline=None)
def test_scores_of_draws_scale_with_the_data_and_ignore_its_level_and_the_order_of_draws(
    actual: Floats, samples: Floats, factor: float, shift: int, fair: bool
) -> None:
    for score in (probabilistic.crps_samples, probabilistic.energy_score):
        before = score(actual, samples, fair=fair)
        assert score(factor * actual, factor * samples, fair=fair) == pytest.approx(factor * before, abs=1e-5)
        assert score(actual + shift, samples + shift, fair=fair) == pytest.approx(before, abs=1e-5)
        assert score(actual, samples[..., [3, 0, 5, 1, 4, 2]], fair=fair) == pytest.approx(before, abs=1e-5)
        if not fair:
            assert before >= -1e-6


@given(truths, draws)
@settings(max_examples=50, deadline=None)
def test_scores_of_quantiles_ignore_the_level_of_the_data(actual: Floats, samples: Floats) -> None:
    quantiles = {0.1: samples[..., 0], 0.5: samples[..., 1], 0.8: samples[..., 2]}
    moved = {share: 4 * values + 7 for share, values in quantiles.items()}
    before = probabilistic.crps_quantiles(actual, quantiles)
    assert probabilistic.crps_quantiles(4 * actual + 7, moved) == pytest.approx(4 * before)
    error = probabilistic.calibration_error(actual, quantiles)
    assert probabilistic.calibration_error(4 * actual + 7, moved) == pytest.approx(error)
    assert 0 <= error <= 100


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 90.0, math.nan])
def test_a_quantile_outside_0_and_1_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"quantile: .* must lie between 0 and 1"):
        probabilistic.pinball(ACTUAL, ACTUAL, share)


def test_a_level_outside_0_and_100_is_refused() -> None:
    with pytest.raises(InputError, match="level: 100 must lie between 0 and 100"):
        probabilistic.winkler(ACTUAL, ACTUAL, ACTUAL, 100)


def test_no_quantiles_are_refused() -> None:
    with pytest.raises(InputError, match="quantiles: pass at least one"):
        probabilistic.crps_quantiles(ACTUAL, {})
