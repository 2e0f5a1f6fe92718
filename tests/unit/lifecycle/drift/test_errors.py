"""Errors from tables of forecasts."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.lifecycle.drift.errors import forecast_errors

START = datetime(2024, 1, 1)


def forecasts(*, series: int = 2, cutoffs: int = 5, horizon: int = 3, stride: int = 3) -> pl.DataFrame:
    """Return a table whose error is 100 times the series, plus 10 times the cut-off, plus the step."""
    rows = [
        {
            "unique_id": f"s{one}",
            "ds": START + timedelta(hours=cutoff * stride + step),
            "cutoff": START + timedelta(hours=cutoff * stride),
            "step": step,
            "actual": 1000.0 + 100 * one + 10 * cutoff + step,
            "forecast": 1000.0,
        }
        for one in range(series)
        for cutoff in range(cutoffs)
        for step in range(1, horizon + 1)
    ]
    return pl.DataFrame(rows)


def test_forecast_errors_without_overlap_has_every_error_in_time_order():
    errors = forecast_errors(forecasts())
    assert errors.values.shape == (2, 15)
    expected = [100 * one + 10 * cutoff + step for one in range(2) for cutoff in range(5) for step in (1, 2, 3)]
    np.testing.assert_array_equal(errors.values.ravel(), expected)
    assert errors.horizon == 3
    assert errors.steps[0].tolist() == [1, 2, 3] * 5
    assert errors.season_length == 24  # hours


def test_forecast_errors_with_overlap_keeps_cutoffs_one_horizon_apart():
    every_hour = forecasts(cutoffs=13, stride=1)
    errors = forecast_errors(every_hour)
    # Cut-offs 0, 3, 6, 9, 12 remain, which forecast each time once.
    kept = [10 * cutoff + step for cutoff in (0, 3, 6, 9, 12) for step in (1, 2, 3)]
    assert errors.values[0].tolist() == kept


def test_forecast_errors_of_rows_in_any_order_are_the_same():
    table = forecasts(cutoffs=13, stride=2)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3)
    np.testing.assert_array_equal(forecast_errors(shuffled).values, forecast_errors(table).values)


def test_forecast_errors_of_a_growing_table_keep_what_they_were():
    table = forecasts(cutoffs=12, stride=1)
    later = forecasts(cutoffs=20, stride=1)
    before, after = forecast_errors(table), forecast_errors(later)
    known = np.isfinite(before.values)
    np.testing.assert_array_equal(after.values[:, : before.num_times][known], before.values[known])


def test_forecast_errors_leaves_out_values_that_were_not_observed():
    table = forecasts().with_columns(actual=pl.when(pl.col("step") == 2).then(None).otherwise(pl.col("actual")))
    errors = forecast_errors(table)
    assert np.isnan(errors.values[:, 1::3]).all()
    assert np.isfinite(errors.values[:, 0::3]).all()


def test_forecast_errors_fills_times_without_any_row():
    table = forecasts(cutoffs=5, horizon=1, stride=3)
    errors = forecast_errors(table, frequency="1h")
    assert errors.num_times == 13
    assert np.isfinite(errors.values[0]).sum() == 5


def test_forecast_errors_of_another_model_takes_its_column():
    table = forecasts().with_columns((pl.col("actual") - 1).alias("seasonal naive"))
    assert (forecast_errors(table, model="seasonal naive").values == 1).all()


def test_forecast_errors_without_id_is_one_series():
    table = forecasts(series=1).drop("unique_id")
    assert forecast_errors(table).num_series == 1


@pytest.mark.parametrize("column", ["ds", "actual", "forecast"])
def test_forecast_errors_without_a_column_names_it(column):
    with pytest.raises(InputError, match=f"no column '{column}'"):
        forecast_errors(forecasts().drop(column))


def test_forecast_errors_without_observed_values_is_refused():
    with pytest.raises(InputError, match="no errors"):
        forecast_errors(forecasts().with_columns(actual=pl.lit(None, pl.Float64)))


def test_forecast_errors_with_a_time_twice_and_no_cutoff_is_refused():
    with pytest.raises(InputError, match="cutoff"):
        forecast_errors(forecasts(stride=1).drop("cutoff", "step"))


def test_forecast_errors_reads_csv_with_dates_as_text(tmp_path):
    path = tmp_path / "forecasts.csv"
    forecasts().write_csv(path)
    errors = forecast_errors(path)
    np.testing.assert_array_equal(errors.values, forecast_errors(forecasts()).values)
    assert errors.times[0] == START + timedelta(hours=1)


def test_since_and_last_cut_steps_and_values_alike():
    errors = forecast_errors(forecasts())
    part = errors.since(START + timedelta(hours=7))
    assert part.values[0].tolist() == errors.values[0, 6:].tolist()
    assert part.steps[0].tolist() == errors.steps[0, 6:].tolist()
    assert errors.last(4).steps.shape == (2, 4)
    assert errors.without(pl.Series(["s0"])).ids.to_list() == ["s1"]
