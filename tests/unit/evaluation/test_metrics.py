"""Metrics against values worked out by hand and against each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from neuro_divergent.evaluation import metrics

ACTUAL = np.array([[10.0, 20.0], [30.0, 0.0]])
FORECAST = np.array([[12.0, 16.0], [30.0, 2.0]])
SCALE = np.array([2.0, 4.0])
# Whole numbers: sums of them have no rounding errors, so that invariants hold to the last digit but one.
values = arrays.arrays(np.float64, (3, 4), elements=st.integers(-50, 50).map(float))


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


def test_rmsse_divides_each_series_by_its_own_naive_error() -> None:
    expected = math.sqrt(((2 / 2) ** 2 + (4 / 2) ** 2 + 0 + (2 / 4) ** 2) / 4)
    assert metrics.rmsse(ACTUAL, FORECAST, SCALE) == pytest.approx(expected)
    assert metrics.rmsse(ACTUAL, FORECAST, np.array([0.0, 4.0])) == pytest.approx(math.sqrt(0.25 / 2))
    assert math.isnan(metrics.rmsse(ACTUAL, FORECAST, np.array([0.0, np.nan])))


def test_owa_is_the_mean_of_mase_and_smape_relative_to_a_reference() -> None:
    reference = np.zeros((2, 2))
    # sMAPE of zeros is 200 where the actual value is not zero, and 0 where it is.
    smape = 200 * (2 / 22 + 4 / 36 + 0 + 1) / 4 / (200 * 3 / 4)
    mase = (1 + 2 + 0 + 0.5) / (5 + 10 + 7.5 + 0)
    assert metrics.owa(ACTUAL, FORECAST, reference, SCALE) == pytest.approx((smape + mase) / 2)
    assert metrics.owa(ACTUAL, FORECAST, FORECAST, SCALE) == pytest.approx(1)
    assert math.isnan(metrics.owa(ACTUAL, FORECAST, ACTUAL, SCALE))


def test_r2_compares_with_the_mean_of_actual_values() -> None:
    mean = ACTUAL.mean()
    assert metrics.r2(ACTUAL, ACTUAL) == 1
    assert metrics.r2(ACTUAL, np.full((2, 2), mean)) == pytest.approx(0)
    total = sum((value - mean) ** 2 for value in ACTUAL.ravel())
    assert metrics.r2(ACTUAL, FORECAST) == pytest.approx(1 - (4 + 16 + 0 + 4) / total)


def test_r2_of_a_constant_is_not_defined() -> None:
    # The mean of many equal values is rarely that value to the last digit.
    assert math.isnan(metrics.r2(np.full((1, 1001), 0.1), np.zeros((1, 1001))))


def test_directional_accuracy_compares_with_the_step_before() -> None:
    actual = np.array([[1.0, 2.0, 2.0, 1.0], [5.0, 4.0, 6.0, 6.0]])
    forecast = np.array([[0.0, 9.0, 9.0, 8.0], [5.0, 6.0, 7.0, 5.0]])
    # up = up, level = level, down = down; down against up, up = up, level against down
    assert metrics.directional_accuracy(actual, forecast) == pytest.approx(100 * 4 / 6)
    # From 1 the first window stays level and its forecast goes down; the last value of the second is not known.
    last = np.array([1.0, np.nan])
    assert metrics.directional_accuracy(actual, forecast, last) == pytest.approx(100 * 4 / 7)
    observed = np.array([[True, False, True, True], [True] * 4])
    assert metrics.directional_accuracy(actual, forecast, observed=observed) == pytest.approx(100 * 2 / 4)
    assert math.isnan(metrics.directional_accuracy(actual[:, :1], forecast[:, :1]))


@given(values, values, st.sampled_from([2.0, 0.5, 16.0]))
@settings(max_examples=50, deadline=None)
def test_scaling_the_data_scales_errors_and_leaves_relative_ones_alone(
    actual: np.ndarray, forecast: np.ndarray, factor: float
) -> None:
    scale = np.array([1.0, 3.0, 2.0])
    for name, power in {"mae": 1, "mse": 2, "rmse": 1, "bias": 1, "mape": 0, "smape": 0, "wape": 0, "r2": 0}.items():
        metric = getattr(metrics, name)
        changed, before = metric(factor * actual, factor * forecast), metric(actual, forecast)
        assert changed == pytest.approx(factor**power * before, nan_ok=True)
    for name in ("mase", "rmsse"):
        metric = getattr(metrics, name)
        assert metric(factor * actual, factor * forecast, factor * scale) == pytest.approx(
            metric(actual, forecast, scale)
        )
    before = metrics.directional_accuracy(actual, forecast)
    assert metrics.directional_accuracy(factor * actual, factor * forecast) == before


@given(values, values, st.integers(-1000, 1000))
@settings(max_examples=50, deadline=None)
def test_neither_order_nor_level_matters_to_errors(actual: np.ndarray, forecast: np.ndarray, shift: int) -> None:
    order = np.random.default_rng(abs(shift)).permutation(actual.size)
    for name in ("mae", "mse", "rmse", "bias", "r2"):
        metric = getattr(metrics, name)
        before = metric(actual, forecast)
        assert metric(actual.ravel()[order], forecast.ravel()[order]) == pytest.approx(before, nan_ok=True)
        assert metric(actual + shift, forecast + shift) == pytest.approx(before, nan_ok=True)


def test_intervals() -> None:
    low, high = FORECAST - 2, FORECAST + 2
    assert metrics.coverage(ACTUAL, low, high) == 75.0  # the ends count as inside
    assert metrics.width(low, high) == 4.0


def test_skill() -> None:
    assert metrics.skill(1.0, 4.0) == 0.75
    assert metrics.skill(5.0, 4.0) == -0.25
    assert math.isnan(metrics.skill(1.0, 0.0))


@pytest.mark.parametrize("name", ["mae", "mse", "rmse", "bias", "mape", "smape", "wape", "r2"])
def test_unobserved_values_are_left_out(name: str) -> None:
    metric = getattr(metrics, name)
    observed = np.array([[True, False], [True, True]])
    spoilt = np.where(observed, ACTUAL, np.nan)
    expected = metric(ACTUAL[observed], FORECAST[observed])
    assert metric(spoilt, FORECAST, observed) == pytest.approx(expected)
    assert math.isnan(metric(spoilt, FORECAST, np.zeros((2, 2), bool)))


def test_metrics_of_all_zeros() -> None:
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


def test_seasonal_error_keeps_small_series_apart_from_large_ones() -> None:
    values = np.concatenate([1e12 * np.arange(100.0) ** 2, 1e-6 * np.arange(100.0)])
    error = metrics.seasonal_error(values, np.array([0, 100, 200]), np.array([100, 200]), 1)
    assert error[1] == pytest.approx(1e-6)


def test_seasonal_error_against_a_loop() -> None:
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 30, 20)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values, observed = generator.normal(size=offsets[-1]), generator.random(offsets[-1]) < 0.7
    ends = offsets[:-1] + np.array([generator.integers(0, length + 1) for length in lengths])
    for season in (1, 4, 7):
        expected, squared = [], []
        for begin, end in zip(offsets[:-1], ends, strict=True):
            pairs = [
                abs(values[row] - values[row - season])
                for row in range(begin + season, end)
                if observed[row] and observed[row - season]
            ]
            expected.append(np.mean(pairs) if pairs else np.nan)
            squared.append(math.sqrt(sum(pair**2 for pair in pairs) / len(pairs)) if pairs else np.nan)
        np.testing.assert_allclose(metrics.seasonal_error(values, offsets, ends, season, observed), expected)
        found = metrics.seasonal_error(values, offsets, ends, season, observed, squared=True)
        np.testing.assert_allclose(found, squared)
