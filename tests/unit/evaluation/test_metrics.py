"""Metrics against values worked out by hand and against each other."""

import math

import numpy as np
import pytest

from neuro_divergent.evaluation import metrics

ACTUAL = np.array([[10.0, 20.0], [30.0, 0.0]])
FORECAST = np.array([[12.0, 16.0], [30.0, 2.0]])


def test_values_worked_out_by_hand() -> None:
    assert metrics.mae(ACTUAL, FORECAST) == pytest.approx((2 + 4 + 0 + 2) / 4)
    assert metrics.mse(ACTUAL, FORECAST) == pytest.approx((4 + 16 + 0 + 4) / 4)
    assert metrics.rmse(ACTUAL, FORECAST) == pytest.approx(math.sqrt(6))
    assert metrics.bias(ACTUAL, FORECAST) == pytest.approx((2 - 4 + 0 + 2) / 4)
    assert metrics.wape(ACTUAL, FORECAST) == pytest.approx(100 * 8 / 60)
    # The zero has no percentage: three values remain.
    assert metrics.mape(ACTUAL, FORECAST) == pytest.approx(100 * (0.2 + 0.2 + 0) / 3)
    assert metrics.smape(ACTUAL, FORECAST) == pytest.approx(200 * (2 / 22 + 4 / 36 + 0 + 2 / 2) / 4)


def test_mase_divides_each_series_by_its_own_naive_error() -> None:
    assert metrics.mase(ACTUAL, FORECAST, np.array([2.0, 4.0])) == pytest.approx((1 + 2 + 0 + 0.5) / 4)


@pytest.mark.parametrize("unusable", [0.0, np.nan])
def test_mase_leaves_out_series_without_a_scale(unusable: float) -> None:
    assert metrics.mase(ACTUAL, FORECAST, np.array([2.0, unusable])) == pytest.approx(1.5)


def test_intervals() -> None:
    low, high = FORECAST - 2, FORECAST + 2
    assert metrics.coverage(ACTUAL, low, high) == 75.0  # the ends count as inside
    assert metrics.width(low, high) == 4.0


def test_skill() -> None:
    assert metrics.skill(1.0, 4.0) == 0.75
    assert metrics.skill(5.0, 4.0) == -0.25
    assert math.isnan(metrics.skill(1.0, 0.0))


@pytest.mark.parametrize("name", ["mae", "mse", "rmse", "bias", "mape", "smape", "wape"])
def test_what_was_not_observed_does_not_count(name: str) -> None:
    metric = getattr(metrics, name)
    observed = np.array([[True, False], [True, True]])
    spoilt = np.where(observed, ACTUAL, np.nan)
    expected = metric(ACTUAL[observed], FORECAST[observed])
    assert metric(spoilt, FORECAST, observed) == pytest.approx(expected)
    assert math.isnan(metric(spoilt, FORECAST, np.zeros((2, 2), bool)))


def test_everything_zero() -> None:
    zero = np.zeros((1, 3))
    assert metrics.smape(zero, zero) == 0.0
    assert math.isnan(metrics.mape(zero, zero))
    assert math.isnan(metrics.wape(zero, zero))


def test_seasonal_error_of_a_perfect_season_plus_trend() -> None:
    season = np.tile([5.0, 1.0, 3.0], 4)
    values = np.concatenate([season, season + 0.5 * np.arange(12)])  # one season apart: 0, and 3 * 0.5
    offsets = np.array([0, 12, 24])
    error = metrics.seasonal_error(values, offsets, offsets[1:], 3)
    assert error == pytest.approx([0.0, 1.5])


def test_seasonal_error_stays_inside_the_series_and_before_its_end() -> None:
    values = np.array([1.0, 2.0, 100.0, 7.0, 7.0, 10.0, -50.0])
    offsets, ends = np.array([0, 3, 7]), np.array([2, 6])
    assert metrics.seasonal_error(values, offsets, ends, 1) == pytest.approx([1.0, (0 + 3) / 2])
    assert np.isnan(metrics.seasonal_error(values, offsets, ends, 3)[0])


def test_seasonal_error_needs_both_ends_of_a_pair() -> None:
    values, observed = np.array([1.0, 0.0, 4.0, 6.0]), np.array([True, False, True, True])
    assert metrics.seasonal_error(values, np.array([0, 4]), np.array([4]), 1, observed) == pytest.approx([2.0])


def test_seasonal_error_against_a_loop() -> None:
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 30, 20)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values, observed = generator.normal(size=offsets[-1]), generator.random(offsets[-1]) < 0.7
    ends = offsets[:-1] + np.array([generator.integers(0, length + 1) for length in lengths])
    for season in (1, 4, 7):
        expected = []
        for begin, end in zip(offsets[:-1], ends, strict=True):
            pairs = [
                abs(values[row] - values[row - season])
                for row in range(begin + season, end)
                if observed[row] and observed[row - season]
            ]
            expected.append(np.mean(pairs) if pairs else np.nan)
        np.testing.assert_allclose(metrics.seasonal_error(values, offsets, ends, season, observed), expected)
