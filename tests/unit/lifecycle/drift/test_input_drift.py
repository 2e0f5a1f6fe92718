"""Drift of inputs: seasonal differences before and after a time."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.drift.detection import detect_drift
from neuro_divergent.lifecycle.drift.input_drift import input_drift, seasonal_differences
from tests.unit.lifecycle.drift.panels import autoregression, matrix_of

START = datetime(2024, 1, 1)


def inputs(seed, *, length=900):
    """Return series with a season, a trend and dependent noise."""
    rng = np.random.default_rng(seed)
    times = np.arange(length)
    noise = autoregression(rng.standard_normal((30, length)), 0.5)
    return noise + 10 * np.sin(2 * np.pi * times / 24) + 0.02 * times * rng.uniform(0.5, 1.5, (30, 1))


def panel_of(values, temperature):
    times = [START + timedelta(hours=hour) for hour in range(values.shape[1])]
    table = pl.DataFrame(
        {
            "unique_id": np.repeat([f"s{row:02d}" for row in range(len(values))], len(times)),
            "ds": times * len(values),
            "y": values.ravel(),
            "temperature": temperature.ravel(),
        }
    )
    return build_panel(table, Schema(future=("temperature",), calendar=("hour",)))


def test_differences_compare_every_new_value_with_one_before_the_new_part():
    matrix = matrix_of(np.arange(100.0)[None, :] + np.zeros((2, 1)), season_length=7)
    old, new = seasonal_differences(matrix, 80)
    assert (new.values == 21).all()  # three seasons, the least that is no shorter than 20 new values
    assert new.num_times == 20
    assert (old.values == 21).all()
    assert old.times[0] == 21


def test_healthy_inputs_with_season_and_trend_hardly_alarm():
    alarms = sum(
        detect_drift(*seasonal_differences(matrix_of(inputs(seed)), 700), false_discoveries=0.0).is_drift
        for seed in range(30)
    )
    assert alarms <= 3


def test_change_of_level_of_the_inputs_is_found_until_the_end_of_a_long_part():
    values = inputs(1)
    values[:, 700:] += 2
    result = detect_drift(*seasonal_differences(matrix_of(values), 700))
    assert result.is_drift
    assert result.strongest.name == "level"


def test_input_drift_of_a_panel_names_the_column_that_changed():
    values = inputs(2)
    temperature = autoregression(np.random.default_rng(3).standard_normal(values.shape), 0.5)
    temperature[:, 800:] += 3
    results = input_drift(panel_of(values, temperature), START + timedelta(hours=800), alpha=0.02)
    assert list(results) == ["y", "temperature"]  # not the hour of the calendar
    assert [result.is_drift for result in results.values()] == [False, True]
    assert "temperature" in results["temperature"].sentence
    assert results["temperature"].alpha == 0.01


def test_input_drift_with_too_short_a_past_is_not_judged():
    values = inputs(4, length=300)
    results = input_drift(panel_of(values, np.abs(values)), START + timedelta(hours=150))
    assert {result.verdict for result in results.values()} == {"not judged"}


def test_input_drift_without_rows_before_or_after_is_refused():
    values = inputs(5, length=300)
    with pytest.raises(InputError, match="no rows after"):
        input_drift(panel_of(values, values), START + timedelta(hours=1000))
    with pytest.raises(InputError, match="no rows before"):
        input_drift(panel_of(values, values), START)
