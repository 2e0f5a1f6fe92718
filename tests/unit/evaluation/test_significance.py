"""Significance tests against published numbers, SciPy, closed forms and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.comparison.significance import (
    critical_difference,
    diebold_mariano,
    friedman,
    holm,
    nemenyi,
)

# Ranks of four classifiers on 14 data sets: Demsar, "Statistical comparisons of classifiers over multiple data sets",
# JMLR 7 (2006), table 6. On "voting" two of them have the same score to three digits, but not the same rank.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)


def test_the_published_example_of_friedman_and_nemenyi() -> None:
    test = friedman(DEMSAR, correct_ties=False)
    assert test.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert test.chi_square == pytest.approx(9.28, abs=5e-3)
    assert test.f == pytest.approx(3.69, abs=5e-3)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=5e-3)


def test_friedman_allows_for_ties_as_scipy_does() -> None:
    statistic, p_value = stats.friedmanchisquare(*(DEMSAR).T)
    test = friedman(DEMSAR)
    assert (test.chi_square, test.chi_square_p) == pytest.approx((statistic, p_value))


def test_series_without_a_score_are_left_out() -> None:
    scores = np.vstack([DEMSAR, [[np.nan, 0, 0, 0]]])
    assert friedman(scores).chi_square == friedman(DEMSAR).chi_square
    assert friedman(scores).series == 14


def test_an_order_that_all_series_agree_on_is_no_chance() -> None:
    test = friedman(np.arange(60).reshape(20, 3))
    assert test.f == math.inf
    assert test.f_p == 0
    assert test.chi_square_p < 1e-6


def test_forecasts_that_are_all_the_same_do_not_differ() -> None:
    test = friedman(np.ones((10, 3)))
    assert test.chi_square == 0
    assert test.f_p == 1


def test_nemenyi_says_different_just_beyond_the_critical_difference() -> None:
    apart = critical_difference(3, 20)
    p_values = nemenyi([1.0, 1.0 + apart, 1.0 + apart / 2], 20)
    assert p_values[0, 1] == pytest.approx(0.05, abs=1e-6)
    assert p_values[0, 2] > 0.05
    assert np.diag(p_values) == pytest.approx(1.0)
    assert p_values == pytest.approx(p_values.T)


def test_two_forecasts_are_compared_as_a_normal_difference() -> None:
    # The range of two normal values is a normal difference: Nemenyi of two is the two-sided normal test.
    assert critical_difference(2, 30) == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(2 * 3 / (6 * 30)), abs=1e-6)


def test_without_overlap_it_is_the_paired_t_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 25)
    test = diebold_mariano(values)
    assert (test.statistic, test.p_value) == pytest.approx(tuple(stats.ttest_1samp(values, 0)))
    assert (test.cutoffs, test.lags) == (25, 0)


def test_overlap_worked_out_by_hand() -> None:
    values = np.array([1.0, 2.0, 4.0, 3.0, 5.0, 3.0])
    centred = values - 3
    variance = (centred @ centred + 2 * (centred[1:] @ centred[:-1])) / 6
    statistic = 3 / math.sqrt(variance / 6) * math.sqrt((6 + 1 - 4 + 2 / 6) / 6)
    test = diebold_mariano(values, overlap=2)
    assert test.statistic == pytest.approx(statistic)
    assert test.p_value == pytest.approx(2 * stats.t.sf(statistic, 5))


def test_a_variance_that_would_be_negative_is_weighted() -> None:
    values = np.array([1.0, -1.0] * 10) + 0.1
    test = diebold_mariano(values, overlap=2)
    assert np.isfinite(test.statistic)
    assert test.p_value < 1


@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=30), st.integers(1, 3))
def test_who_is_first_changes_the_sign_alone(values: list[float], overlap: int) -> None:
    one, other = diebold_mariano(values, overlap), diebold_mariano([-value for value in values], overlap)
    assert one.mean == pytest.approx(-other.mean)
    assert one.statistic == pytest.approx(-other.statistic, nan_ok=True)
    assert one.p_value == pytest.approx(other.p_value, nan_ok=True)
    assert math.isnan(one.p_value) or 0 <= one.p_value <= 1


@pytest.mark.parametrize("overlap", [1, 3])
def test_forecasts_that_are_equally_good_are_called_different_in_five_percent_of_cases(overlap: int) -> None:
    draws, cutoffs = 4000, 150
    noise = np.random.default_rng(1).normal(size=(draws, cutoffs + overlap - 1))
    # Losses of overlapping horizons are moving sums: exactly the correlation that the test allows for.
    values = np.lib.stride_tricks.sliding_window_view(noise, overlap, axis=1).sum(-1)
    rejected = np.mean([diebold_mariano(row, overlap).p_value < 0.05 for row in values])
    assert rejected == pytest.approx(0.05, abs=0.015)


def test_a_test_that_ignores_the_overlap_would_reject_far_too_often() -> None:
    noise = np.random.default_rng(1).normal(size=(1000, 152))
    values = np.lib.stride_tricks.sliding_window_view(noise, 3, axis=1).sum(-1)
    assert np.mean([diebold_mariano(row).p_value < 0.05 for row in values]) > 0.15


def test_a_difference_is_found_where_there_is_one() -> None:
    values = np.random.default_rng(2).normal(0.5, 1, (500, 50))
    assert np.mean([diebold_mariano(row).p_value < 0.05 for row in values]) > 0.9


def test_too_few_cutoffs_tell_nothing() -> None:
    assert math.isnan(diebold_mariano([1.0]).p_value)
    assert math.isnan(diebold_mariano([]).mean)
    assert math.isnan(diebold_mariano([1.0, 2.0, 3.0], overlap=2).p_value)
    assert diebold_mariano([1.0, np.nan, 2.0]).cutoffs == 2


def test_the_same_forecast_twice_is_no_different() -> None:
    assert diebold_mariano([0.0] * 8).p_value == 1
    assert diebold_mariano([2.0] * 8).p_value == 0


def test_holm_worked_out_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([0.01, np.nan, 0.02]) == pytest.approx([0.02, np.nan, 0.02], nan_ok=True)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_lies_between_plain_and_bonferroni(values: list[float]) -> None:
    adjusted, plain = holm(values), np.array(values)
    assert (adjusted >= plain).all()
    assert (adjusted <= np.minimum(plain * len(plain), 1) + 1e-12).all()
    order = np.argsort(plain, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InputError, match="overlap"):
        diebold_mariano([1.0, 2.0], overlap=0)
    with pytest.raises(InputError, match="alpha"):
        critical_difference(3, 10, alpha=1.5)
    with pytest.raises(InputError, match="series, forecasts"):
        friedman([1.0, 2.0])
