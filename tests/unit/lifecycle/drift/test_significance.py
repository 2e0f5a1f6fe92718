"""Tests per series, compared with SciPy and with simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from neuro_divergent.lifecycle.drift.cusum import cusum_tests
from neuro_divergent.lifecycle.drift.false_discovery import adjust_p_values
from neuro_divergent.lifecycle.drift.kolmogorov_smirnov import ks_p_values, ks_statistics
from neuro_divergent.lifecycle.drift.named_series import correlation_time
from tests.unit.lifecycle.drift.panels import autoregression


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 6),
    first=st.integers(1, 30),
    second=st.integers(1, 30),
    ties=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_ks_statistics_equal_those_of_scipy(rows, first, second, ties, seed):
    rng = np.random.default_rng(seed)
    draw = rng.integers(0, 5, (rows, first + second)).astype(float) if ties else rng.normal(size=(rows, first + second))
    one, other = draw[:, :first].copy(), draw[:, first:].copy()
    one[rng.random(one.shape) < 0.2] = np.nan
    found = ks_statistics(one, other)
    for row in range(rows):
        known = one[row][np.isfinite(one[row])]
        if not len(known):
            assert np.isnan(found[row])
            continue
        with np.errstate(divide="ignore"):
            expected = stats.ks_2samp(known, other[row], method="asymp").statistic
        assert found[row] == expected


def test_ks_p_values_are_close_to_those_of_scipy():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(200, 400)), rng.normal(0.1, 1, size=(200, 200))
    found = ks_p_values(ks_statistics(one, other), np.full(200, 400), np.full(200, 200))
    exact = np.array([stats.ks_2samp(a, b, method="exact").pvalue for a, b in zip(one, other, strict=True)])
    assert np.abs(found - exact).max() < 0.02
    small = exact < 0.01
    assert small.sum() > 5
    np.testing.assert_allclose(found[small], exact[small], rtol=0.25)


def test_ks_statistics_in_parts_equal_those_at_once(monkeypatch):
    from neuro_divergent.lifecycle.drift import kolmogorov_smirnov

    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(37, 20)), rng.normal(size=(37, 10))
    at_once = ks_statistics(one, other)
    monkeypatch.setattr(kolmogorov_smirnov, "_PART", 100)
    np.testing.assert_array_equal(ks_statistics(one, other), at_once)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_adjusted_p_values_equal_those_of_scipy(p_values):
    values = np.array(p_values)
    np.testing.assert_allclose(adjust_p_values(values), stats.false_discovery_control(values), rtol=1e-12)


def test_adjusted_p_values_do_not_count_nan():
    found = adjust_p_values(np.array([0.01, np.nan, 0.04]))
    np.testing.assert_allclose(found[[0, 2]], stats.false_discovery_control([0.01, 0.04]))
    assert np.isnan(found[1])


@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_cusum_p_values_of_unchanged_series_are_uniform_in_the_tail(memory):
    rng = np.random.default_rng(2)
    values = autoregression(rng.standard_normal((3000, 350)), memory)[:, 50:]
    level, size = cusum_tests(values[:, :200], values[:, 200:], block=1)
    for found in (level, size):
        # Binomial standard deviations of 3,000 series: 0.004 at 0.05 and 0.0018 at 0.01; the bootstrap has its own.
        assert 0.03 < (found.p_values < 0.05).mean() < 0.08
        assert 0.003 < (found.p_values < 0.01).mean() < 0.02


def test_cusum_of_a_shift_finds_it_and_where_it_began():
    rng = np.random.default_rng(3)
    values = rng.standard_normal((200, 400))
    values[:100, 300:] += 2.0
    values[100:150, 300:] *= 3.0
    level, size = cusum_tests(values[:, :200], values[:, 200:], block=1)
    assert (level.p_values[:100] < 1e-4).all()
    assert np.abs(level.begins[:100] - 100).mean() < 2
    assert (size.p_values[100:150] < 1e-4).all()
    assert (np.minimum(level.p_values, size.p_values)[150:] > 1e-4).all()


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.6])
def test_correlation_time_is_that_of_an_autoregression(memory):
    values = autoregression(np.random.default_rng(4).standard_normal((200, 1200)), memory)[:, 200:]
    expected = (1 + memory) / (1 - memory)
    assert correlation_time(values) == pytest.approx(expected, rel=0.15)
