"""Baselines against loops that do what the words say."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.baselines import Baselines


def panel_of(*series: list[float], mask: list[bool] | None = None) -> Panel:
    return Panel(
        schema=Schema(id="unique_id"),
        ids=pl.Series([f"s{place}" for place in range(len(series))]),
        starts=pl.Series([0] * len(series)),
        frequency=Frequency(1, ""),
        offsets=np.concatenate([[0], np.cumsum([len(values) for values in series])]).astype(np.int64),
        y=np.concatenate([np.asarray(values, np.float32) for values in series]),
        mask=None if mask is None else np.array(mask),
    )


def baselines(panel: Panel, series: int, row: int, horizon: int, season: int) -> Baselines:
    return Baselines(panel, np.array([series]), np.array([row]), horizon, season)


def test_values_worked_out_by_hand() -> None:
    panel = panel_of([9.0], [1, 2, 3, 4, 6, 0, 0])
    forecast = baselines(panel, 1, 6, 4, 3)  # sees 1, 2, 3, 4, 6
    assert forecast.last_value().tolist() == [[6, 6, 6, 6]]
    assert forecast.seasonal_naive().tolist() == [[3, 4, 6, 3]]
    assert forecast.drift().tolist() == [[7.25, 8.5, 9.75, 11]]
    assert list(forecast.all()) == ["last value", "seasonal naive", "drift"]


def test_history_shorter_than_a_season_repeats_the_last_value() -> None:
    panel = panel_of([50, 60, 70, 80], [1, 2, 0, 0, 0, 0])
    assert baselines(panel, 1, 6, 4, 4).seasonal_naive().tolist() == [[2, 2, 1, 2]]


def test_history_of_one_value_is_repeated() -> None:
    panel = panel_of([5, 0, 0])
    forecast = baselines(panel, 0, 1, 2, 1)
    assert forecast.last_value().tolist() == forecast.seasonal_naive().tolist() == forecast.drift().tolist() == [[5, 5]]


def test_masked_values_are_never_used() -> None:
    panel = panel_of([1, 2, 3, 4, 5, 6, 9, 9], mask=[True, True, True, False, True, False, True, True])
    forecast = baselines(panel, 0, 6, 3, 2)  # sees 1 2 3 . 5 .
    assert forecast.last_value().tolist() == [[5, 5, 5]]
    assert forecast.seasonal_naive().tolist() == [[5, 2, 5]]
    assert forecast.drift().tolist() == [[7, 8, 9]]


def test_history_without_observed_values_gives_nan() -> None:
    panel = panel_of([3, 4], [1, 2, 3], mask=[True, True, False, False, True])
    for values in baselines(panel, 1, 4, 1, 2).all().values():
        assert np.isnan(values).all()


@pytest.mark.parametrize("masked", [False, True])
def test_baselines_equal_a_loop_and_ignore_the_target(masked: bool) -> None:
    generator = np.random.default_rng(3)
    series = [generator.normal(size=length).tolist() for length in (40, 25, 31)]
    mask = (generator.random(96) < 0.6).tolist() if masked else None
    panel = panel_of(*series, mask=mask)
    numbers = np.array([0, 0, 1, 2, 2])
    rows = panel.offsets[numbers] + np.array([12, 33, 9, 1, 20])
    for season in (1, 5, 12):
        forecast = Baselines(panel, numbers, rows, 7, season).all()
        for window, (number, row) in enumerate(zip(numbers, rows, strict=True)):
            begin = panel.offsets[number]
            seen = [place for place in range(begin, row) if mask is None or mask[place]]
            last = panel.y[seen[-1]] if seen else np.nan
            for step in range(7):
                same = [place for place in seen if (row + step - place) % season == 0]
                slope = (panel.y[seen[-1]] - panel.y[seen[0]]) / max(seen[-1] - seen[0], 1) if seen else np.nan
                line = last + slope * (row + step - seen[-1]) if seen else np.nan
                expected = [last, panel.y[same[-1]] if same else last, line]
                found = [values[window, step] for values in forecast.values()]
                np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_changing_targets_changes_no_baseline() -> None:
    panel = panel_of(np.random.default_rng(0).normal(size=30).tolist())
    changed = panel.y.copy()
    changed[20:] = 1e6
    before, after = (baselines(one, 0, 20, 7, 5).all() for one in (panel, dataclasses.replace(panel, y=changed)))
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])
