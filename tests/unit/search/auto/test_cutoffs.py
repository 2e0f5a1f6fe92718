"""Cut-offs of back-tests, naive forecasts and groups of series."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.baselines import Baselines
from neuro_divergent.search.auto.cutoffs import Cutoffs, choose_cutoffs, choose_series
from neuro_divergent.search.auto.groups import GROUPS, SeriesTraits
from neuro_divergent.search.auto.naive import NAIVE, naive_forecast


def panel_of(*series: list[float] | np.ndarray) -> Panel:
    rows = [
        pl.DataFrame({"unique_id": f"s{place}", "ds": np.arange(len(values)), "y": np.asarray(values, np.float64)})
        for place, values in enumerate(series)
    ]
    return build_panel(pl.concat(rows))


def test_cutoffs_are_a_horizon_apart_where_the_series_are_long() -> None:
    assert choose_cutoffs(panel_of(np.arange(100.0)), 7, 3, 1) == (7, 14, 21)


def test_cutoffs_are_closer_where_the_series_are_short_and_leave_most_of_them() -> None:
    backs = choose_cutoffs(panel_of(np.arange(40.0)), 6, 3, 1)
    assert backs[0] == 6
    assert len(backs) == 3
    assert backs[-1] <= 12
    assert choose_cutoffs(panel_of(np.arange(20.0)), 6, 3, 1) == (6,)


@pytest.mark.parametrize(("length", "count"), [(9, 1), (8, 0), (3, 0), (2, 0)])
def test_series_without_room_for_a_history_and_a_horizon_have_no_cutoff(length: int, count: int) -> None:
    assert len(choose_cutoffs(panel_of(np.arange(float(length))), 6, 3, 1)) == count


def test_windows_of_a_cutoff_are_the_last_rows_of_each_series_and_short_series_have_none() -> None:
    panel = panel_of(np.arange(10.0), np.arange(100.0, 104.0))
    cutoffs = Cutoffs(panel, np.array([1, 0]), 2, (2, 4))
    assert cutoffs.usable.tolist() == [[False, True], [False, True]]
    assert cutoffs.actual[:, 1].tolist() == [[8, 9], [6, 7]]
    assert np.isnan(cutoffs.actual[:, 0]).all()
    train = cutoffs.training_part()
    assert train.num_series == 1
    assert train.y.tolist() == [0, 1, 2, 3, 4, 5]


def test_samples_are_nested_and_differ_with_the_seed() -> None:
    panel = panel_of(*[[1.0, 2.0]] * 20)
    some = choose_series(panel, 5, seed=1)
    assert choose_series(panel, 12, seed=1)[:5].tolist() == some.tolist()
    assert choose_series(panel, 5, seed=2).tolist() != some.tolist()


def test_naive_forecasts_use_nothing_after_the_cutoff_and_agree_with_the_baselines() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(10, 2, 30)
    changed = values.copy()
    changed[20:] = 1e6
    series, targets = np.array([0]), np.array([20])
    for name in NAIVE:
        one, other = (naive_forecast(name, panel_of(data), series, targets, 5, 4) for data in (values, changed))
        assert np.array_equal(one, other)
    baselines = Baselines(panel_of(values), series, targets, 5, 4)
    assert np.allclose(naive_forecast("drift", panel_of(values), series, targets, 5, 4), baselines.drift())
    average = naive_forecast("window_average", panel_of(values), series, targets, 5, 4)
    assert np.allclose(average, values[14:20].mean())
    median = naive_forecast("window_median", panel_of(values), series, targets, 5, 4)
    assert np.allclose(median, np.median(values[14:20]))
    assert np.array_equal(naive_forecast("zero", panel_of(values), series, targets, 5, 4), np.zeros((1, 5)))
    seasonal = naive_forecast("seasonal_average", panel_of(values), series, targets, 5, 4)
    assert seasonal[0, 1] == pytest.approx(values[[17, 13, 9]].mean(), rel=1e-6)
    assert seasonal[0, 4] == pytest.approx(values[[16, 12, 8]].mean(), rel=1e-6)


def test_naive_forecasts_of_a_series_without_observed_values_are_zero() -> None:
    table = pl.DataFrame({"unique_id": ["a"] * 4, "ds": range(4), "y": [None, None, 2.0, 1.0]})
    panel = build_panel(table, Schema(missing="mask"))
    for name in NAIVE:
        assert naive_forecast(name, panel, np.array([0]), np.array([2]), 2, 2).tolist() == [[0, 0]]


def test_groups_follow_syntetos_and_boylan_length_and_seasonality() -> None:
    generator = np.random.default_rng(0)
    demand = np.where(np.arange(120) % 4 == 0, generator.integers(1, 9, 120), 0).astype(float)
    season = 10 + 5 * np.sin(np.arange(120) * 2 * np.pi / 12) + generator.normal(0, 0.1, 120)
    walk = 100 + np.cumsum(generator.normal(0, 1, 120))
    panel = panel_of(demand, walk[:15], season, walk)
    traits = SeriesTraits.of(panel, np.arange(4), panel.offsets[1:], horizon=6, season=12)
    assert [GROUPS[place] for place in traits.groups] == ["intermittent", "short", "seasonal", "smooth"]
    assert traits.interval[0] == pytest.approx(4)
    positive = demand[demand > 0]
    assert traits.variation[0] == pytest.approx((positive.std() / positive.mean()) ** 2)


def test_groups_do_not_depend_on_what_comes_after_the_cutoff() -> None:
    values = 10 + 5 * np.sin(np.arange(120) * 2 * np.pi / 12)
    changed = values.copy()
    changed[100:] = 0
    found = [
        SeriesTraits.of(panel_of(data), np.array([0]), np.array([100]), horizon=6, season=12).groups
        for data in (values, changed)
    ]
    assert found[0] == found[1]
