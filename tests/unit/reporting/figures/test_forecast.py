from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Band, Line, Rule
from neuro_divergent.reporting.figures.forecast import forecast_figure, levels_of

BEGIN = datetime(2024, 1, 1)


def _times(first: int, last: int) -> list[datetime]:
    return [BEGIN + timedelta(hours=hour) for hour in range(first, last)]


CONTEXT = pl.DataFrame({"unique_id": ["a"] * 4 + ["b"] * 4, "ds": _times(0, 4) * 2, "y": [1.0, 2, None, 4, 5, 6, 7, 8]})
FORECASTS = pl.DataFrame(
    {
        "unique_id": ["a", "a", "b", "b"],
        "ds": _times(4, 6) * 2,
        "forecast": [5.0, 6, 9, 10],
        "lo-80": [4.0, 5, 8, 9],
        "hi-80": [6.0, 8, 10, 11],
        "lo-95": [3.0, 4, 7, float("-inf")],
        "hi-95": [7.0, 8, 11, None],
    }
)


def test_the_past_what_comes_next_and_its_intervals_are_drawn_from_back_to_front():
    figure = forecast_figure(CONTEXT, FORECASTS, series="a")
    wide, narrow, past, ahead, rule = figure.marks
    assert isinstance(wide, Band)
    assert isinstance(narrow, Band)
    assert [wide.level, narrow.level] == [95, 80]
    assert narrow.low.tolist() == [4, 5]
    assert isinstance(past, Line)
    np.testing.assert_array_equal(past.y, [1, 2, np.nan, 4])
    assert past.x.dtype.kind == "M"
    assert isinstance(ahead, Line)
    assert ahead.y.tolist() == [5, 6]
    assert isinstance(rule, Rule)
    assert rule.x == past.x[-1]
    assert figure.title == "Forecast of a"
    assert figure.alt_text == (
        "Forecast of 2 steps from 2024-01-01 04:00 to 2024-01-01 05:00, between 5 and 6. The 95 % interval is 4 wide "
        "on average. The 80 % interval is 2.5 wide on average."
    )


def test_numbers_that_are_not_finite_are_gaps():
    wide = forecast_figure(CONTEXT, FORECASTS, series="b").marks[0]
    assert isinstance(wide, Band)
    np.testing.assert_array_equal(wide.low, [7, np.nan])
    np.testing.assert_array_equal(wide.high, [11, np.nan])


def test_the_first_series_is_shown_where_none_is_named_and_levels_can_be_chosen():
    figure = forecast_figure(CONTEXT, FORECASTS, levels=[80])
    assert figure.title == "Forecast of a"
    assert [mark.level for mark in figure.marks if isinstance(mark, Band)] == [80]


def test_series_are_found_by_their_text_as_well():
    tables = [
        frame.with_columns(pl.col("unique_id").replace_strict({"a": 7, "b": 8}).cast(pl.Int64).alias("store"))
        for frame in (CONTEXT, FORECASTS)
    ]
    tables = [frame.drop("unique_id") for frame in tables]
    assert forecast_figure(*tables, series="8", id="store").title == "Forecast of 8"
    assert (
        forecast_figure(*tables, series=8, id="store").alt_text
        == forecast_figure(*tables, series="8", id="store").alt_text
    )


def test_a_single_series_needs_no_name():
    tables = [frame.filter(pl.col("unique_id") == "a").drop("unique_id") for frame in (CONTEXT, FORECASTS)]
    figure = forecast_figure(*tables)
    assert figure.title == "Forecast"
    assert len(figure.marks) == 5


def test_a_backtest_shows_the_latest_forecast_of_each_time():
    backtest = pl.DataFrame(
        {
            "unique_id": ["a"] * 4,
            "ds": [*_times(1, 3), *_times(2, 4)],
            "cutoff": _times(0, 1) * 2 + _times(1, 2) * 2,
            "step": [1, 2, 1, 2],
            "actual": [2.0, 3, 3, 4],
            "forecast": [2.5, 100, 3.5, 4.5],
        }
    )
    figure = forecast_figure(CONTEXT, FORECASTS, series="a", backtest=backtest)
    line = next(mark for mark in figure.marks if isinstance(mark, Line) and mark.tone == "backtest")
    assert line.y.tolist() == [2.5, 3.5, 4.5]
    assert figure.alt_text.endswith("Held-out values were forecast with a mean absolute error of 0.5.")


def test_quantiles_make_intervals():
    frame = pl.DataFrame(
        {"q-0.1": [0.0], "q-0.9": [1.0], "q-0.05": [0.0], "q-0.5": [0.0], "lo-x": [0.0], "hi-x": [0.0]}
    )
    assert levels_of(frame) == {80.0: ("q-0.1", "q-0.9")}


@pytest.mark.parametrize("kind", ["date", "zone", "number", "pandas"])
def test_all_kinds_of_times_and_tables_are_drawn(kind):
    places = {
        "date": [date(2024, 1, day) for day in (1, 2, 3)],
        "zone": pl.Series(_times(0, 3)).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin"),
        "number": [1, 2, 3],
        "pandas": _times(0, 3),
    }[kind]
    context = pl.DataFrame({"ds": places, "y": [1.0, 2.0, 3.0]})
    figure = forecast_figure(context.to_pandas() if kind == "pandas" else context, None)
    line = figure.marks[0]
    assert isinstance(line, Line)
    assert line.x.dtype.kind == ("f" if kind == "number" else "M")
    if kind == "zone":  # as the clocks there show it
        assert line.x[0] == np.datetime64(datetime(2024, 1, 1, 1))
        assert datetime(2024, 1, 1, tzinfo=UTC) == places[0]
    assert "3 observed values up to" in figure.alt_text


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="there is no 'c' in the tables"):
        forecast_figure(CONTEXT, FORECASTS, series="c")
    with pytest.raises(InputError, match="neither a past nor a forecast"):
        forecast_figure(None, None)
    with pytest.raises(InputError, match="context: there is no column 'z'"):
        forecast_figure(CONTEXT, FORECASTS, target="z")


def test_hostile_names_are_passed_as_they_are():
    name = "<script>alert(1)</script>"
    tables = [frame.with_columns(pl.lit(name).alias("unique_id")) for frame in (CONTEXT, FORECASTS)]
    assert forecast_figure(*tables).title == f"Forecast of {name}"
