"""What a chart of a series is made of."""

import numpy as np
import polars as pl

from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.reporting.chart import chart_series

TABLE = pl.DataFrame({"unique_id": ["a"] * 5 + ["b"] * 5, "ds": [*range(5)] * 2, "y": [1.0, None, 3, 4, 5, *range(5)]})
AHEAD = pl.DataFrame(
    {"unique_id": ["a", "a", "b", "b"], "ds": [5, 6] * 2, "forecast": [6.0, 7, 8, 9], "lo-80": 0.0, "hi-80": 9.0}
)
CHECKED = pl.DataFrame(
    {"unique_id": ["a", "a"], "ds": [3, 4], "actual": [4.0, 5], "forecast": [4.5, 5.5], "lo-80": 1.0, "hi-80": 8.0}
)


def test_past_backtest_and_future_share_an_axis() -> None:
    panel = build_panel(TABLE, Schema(missing="mask"))
    chart = chart_series(panel, 0, history=4, forecasts=AHEAD, backtest=CHECKED)
    nan = np.nan
    assert chart.title == "a"
    assert chart.times == ["1", "2", "3", "4", "5", "6"]
    assert chart.future == 4
    np.testing.assert_array_equal(chart.actual, [nan, 3, 4, 5, nan, nan])
    np.testing.assert_array_equal(chart.backtest, [nan, nan, 4.5, 5.5, nan, nan])
    np.testing.assert_array_equal(chart.forecast, [nan, nan, nan, nan, 6, 7])
    np.testing.assert_array_equal(chart.bands[80.0][0], [nan, nan, 1, 1, 0, 0])
    np.testing.assert_array_equal(chart.bands[80.0][1], [nan, nan, 8, 8, 9, 9])
    assert chart.limits == (0.0, 9.0)


def test_a_series_without_a_backtest_and_one_without_a_forecast() -> None:
    panel = build_panel(TABLE, Schema(missing="mask"))
    other = chart_series(panel, 1, history=9, forecasts=AHEAD, backtest=CHECKED)
    assert np.isnan(other.backtest).all()
    assert other.forecast[-1] == 9
    nothing = chart_series(panel, 1, history=9, forecasts=None)
    assert nothing.future == len(nothing.times) == 5
    assert nothing.bands == {}
