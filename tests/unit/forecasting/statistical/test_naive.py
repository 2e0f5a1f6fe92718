"""Naive forecasts and their spreads against statsforecast, textbook formulas and loops over single histories."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from neuro_divergent.forecasting.statistical.library import load_models
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts
from tests.unit.forecasting.statistical.panels import monthly, panel_of

HORIZON, SEASON, LEVEL = 27, 12, 80
QUANTILES = (0.1, 0.9)
library = load_models("the test")


def at_the_end(panel, horizon: int = HORIZON, season: int = SEASON) -> NaiveForecasts:
    return NaiveForecasts(panel, np.arange(panel.num_series), panel.offsets[1:], horizon, season)


THEIRS = {
    "naive": library.Naive(),
    "seasonal_naive": library.SeasonalNaive(season_length=SEASON),
    "drift": library.RandomWalkWithDrift(),
    "mean": library.HistoricAverage(),
}


@pytest.mark.parametrize("name", THEIRS)
def test_points_and_intervals_equal_those_of_statsforecast(name: str) -> None:
    panel = monthly()
    made = StatisticalMethod.from_dict(name).forecast(at_the_end(panel), QUANTILES)
    for place in range(panel.num_series):
        values = panel.series(place).astype(np.float64)
        theirs = THEIRS[name].forecast(y=values, h=HORIZON, level=[LEVEL])
        np.testing.assert_allclose(made.point[place], theirs["mean"], rtol=1e-12)
        # The slope is estimated, so the textbook divides by one less than statsforecast does.
        factor = np.sqrt((len(values) - 1) / (len(values) - 2)) if name == "drift" else 1
        for side, end in enumerate(("lo", "hi")):
            width = (theirs[f"{end}-{LEVEL}"] - theirs["mean"]) * factor
            np.testing.assert_allclose(made.quantiles[place, :, side] - made.point[place], width, rtol=1e-9)


def test_spreads_equal_the_formulas_of_the_textbook() -> None:
    values = np.array([3.0, 5, 4, 8, 6, 9, 11, 10])
    count, steps = len(values), np.arange(1, 6)
    forecasts = at_the_end(panel_of([values.tolist()]), 5, 3)
    change = np.diff(values)
    slope = (values[-1] - values[0]) / (count - 1)
    season = values[3:] - values[:-3]
    expected = {
        "last_value": np.sqrt(np.square(change).sum() / (count - 1) * steps),
        "seasonal_naive": np.sqrt(np.square(season).sum() / (count - 3) * ((steps - 1) // 3 + 1)),
        "drift": np.sqrt(np.square(change - slope).sum() / (count - 2) * steps * (1 + steps / (count - 1))),
        "mean": np.full(5, values.std(ddof=1) * np.sqrt(1 + 1 / count)),
    }
    for name, spread in expected.items():
        np.testing.assert_allclose(getattr(forecasts, f"{name}_spread")()[0], spread, rtol=1e-6, err_msg=name)


def test_mean_of_a_window_is_the_mean_method_on_its_last_rows() -> None:
    panel = monthly()
    windowed = StatisticalMethod.from_dict({"name": "mean", "window": 7}).forecast(at_the_end(panel), QUANTILES)
    short = StatisticalMethod.from_dict("mean").forecast(at_the_end(panel.tail(7)), QUANTILES)
    np.testing.assert_allclose(windowed.point, short.point, rtol=1e-9)
    np.testing.assert_allclose(windowed.quantiles, short.quantiles, rtol=1e-9)


values = st.floats(-1e4, 1e4, width=32) | st.just(float("nan"))
histories = st.lists(st.lists(values, min_size=1, max_size=30), min_size=1, max_size=4)


@settings(max_examples=50, deadline=None)
@given(histories, st.integers(1, 6), st.integers(1, 9), st.integers(1, 5), st.randoms(use_true_random=False))
def test_many_windows_at_once_equal_each_history_alone(series, season, horizon, window, random) -> None:
    panel = panel_of(series)
    numbers = np.array([random.randrange(panel.num_series) for _ in range(6)])
    rows = np.array([random.randint(int(panel.offsets[s]), int(panel.offsets[s + 1])) for s in numbers])
    together = NaiveForecasts(panel, numbers, rows, horizon, season)
    made = {
        name: (getattr(together, name)(*arguments), getattr(together, f"{name}_spread")(*arguments))
        for name, arguments in {"last_value": (), "seasonal_naive": (), "drift": (), "mean": (window,)}.items()
    }
    for place, (one, row) in enumerate(zip(numbers, rows, strict=True)):
        history = np.asarray(series[one], np.float32).astype(np.float64)[: row - panel.offsets[one]]
        expected = alone(history, horizon, season, window)
        for name, (point, spread) in expected.items():
            np.testing.assert_allclose(made[name][0][place], point, rtol=1e-6, atol=1e-6, err_msg=name)
            if not np.isnan(point).any():
                np.testing.assert_allclose(made[name][1][place], spread, rtol=1e-4, atol=1e-2, err_msg=name)


def alone(history, horizon: int, season: int, window: int):
    """Return points and spreads of one history, row by row and without any arrays of sums."""
    seen = [row for row in range(len(history)) if not np.isnan(history[row])]
    if not seen:
        nothing = np.full(horizon, np.nan)
        return dict.fromkeys(("last_value", "seasonal_naive", "drift", "mean"), (nothing, nothing))
    last, first = seen[-1], seen[0]
    ahead = np.array([len(history) + step - last for step in range(horizon)])
    changes = [(history[b] - history[a]) / np.sqrt(b - a) for a, b in pairwise(seen)]
    naive = np.sqrt(np.mean(np.square(changes)) * ahead) if changes else np.zeros(horizon)
    span = max(last - first, 1)
    slope = (history[last] - history[first]) / span
    left = [(history[b] - history[a] - slope * (b - a)) / np.sqrt(b - a) for a, b in pairwise(seen)]
    about = np.sum(np.square(left)) / (len(left) - 1) if len(left) > 1 else 0.0
    seasonal = _seasonal(history, seen, horizon, season, naive)
    recent = [history[row] for row in seen if row >= len(history) - window]
    spread = np.std(recent, ddof=1) * np.sqrt(1 + 1 / len(recent)) if len(recent) > 1 else 0.0
    return {
        "last_value": (np.full(horizon, history[last]), naive),
        "seasonal_naive": seasonal,
        "drift": (history[last] + slope * ahead, np.sqrt(about * ahead * (1 + ahead / span))),
        "mean": (np.full(horizon, np.mean(recent) if recent else history[last]), np.full(horizon, spread)),
    }


def _seasonal(history, seen, horizon: int, season: int, naive):
    errors = []
    for row in seen:
        before = [other for other in seen if other < row and (row - other) % season == 0]
        if before:
            errors.append((history[row] - history[before[-1]]) / np.sqrt((row - before[-1]) // season))
    point, spread = [], []
    for step in range(horizon):
        target = len(history) + step
        reached = len(history) - season + step % season
        before = [row for row in seen if row <= reached and (target - row) % season == 0]
        if before:
            point.append(history[before[-1]])
            seasons = (target - before[-1]) // season
            spread.append(np.sqrt(np.mean(np.square(errors)) * seasons) if errors else naive[step])
        else:
            point.append(history[seen[-1]])
            spread.append(naive[step])
    return np.array(point), np.array(spread)


def test_quantiles_are_those_of_a_normal_distribution_around_the_point() -> None:
    forecasts = at_the_end(monthly())
    made = StatisticalMethod.from_dict("naive").forecast(forecasts, (0.025, 0.5))
    expected = forecasts.last_value() + ndtri(0.025) * forecasts.last_value_spread()
    np.testing.assert_allclose(made.quantiles[..., 0], expected)
    np.testing.assert_allclose(made.quantiles[..., 1], made.point)


def test_large_values_of_one_series_leave_no_rounding_errors_in_the_spread_of_the_next() -> None:
    small = [1.0, 1.5, 1.25, 2.0]
    beside = at_the_end(panel_of([[1e18, -1e18, 5e17], small]), 3, 2)
    by_itself = at_the_end(panel_of([small]), 3, 2)
    for name in ("last_value", "seasonal_naive", "drift", "mean"):
        found, expected = (getattr(one, f"{name}_spread")()[-1] for one in (beside, by_itself))
        np.testing.assert_array_equal(found, expected)
