import math
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Band, Bars, Line, Points, Rule
from neuro_divergent.reporting.figures.residuals import (
    autocorrelation,
    error_by_step_figure,
    residual_autocorrelation_figure,
    residual_histogram_figure,
    residuals_over_time_figure,
)

from .backtests import make_backtest

BACKTEST = make_backtest(["a", "b", "<b>"])
FIGURES = [
    residuals_over_time_figure,
    residual_histogram_figure,
    residual_autocorrelation_figure,
    error_by_step_figure,
]


def test_residuals_over_time_are_averaged_by_time():
    figure = residuals_over_time_figure(BACKTEST)
    band, points, line, _ = figure.marks
    assert isinstance(band, Band)
    assert isinstance(points, Points)
    assert isinstance(line, Line)
    assert len(points.x) == BACKTEST.height
    for place, moment in enumerate(sorted(set(BACKTEST["ds"]))):
        rows = BACKTEST.filter(pl.col("ds") == moment)
        residuals = [row["actual"] - row["forecast"] for row in rows.to_dicts()]
        assert line.x[place] == np.datetime64(moment)
        assert line.y[place] == pytest.approx(sum(residuals) / len(residuals))
        assert band.low[place] == pytest.approx(np.quantile(residuals, 0.1))
    assert len(line.x) == BACKTEST["ds"].n_unique()
    higher = "higher" if (BACKTEST["actual"] - BACKTEST["forecast"]).mean() > 0 else "lower"
    assert f" {higher} than the forecast on average" in figure.alt_text


def test_many_times_are_taken_together():
    figure = residuals_over_time_figure(make_backtest(["a"], cutoffs=600))
    line = next(mark for mark in figure.marks if isinstance(mark, Line))
    assert len(line.x) == 480
    assert figure.note == "Each place stands for 5 neighbouring times."
    assert not any(isinstance(mark, Points) for mark in figure.marks)


def test_histogram_counts_all_residuals_and_has_a_normal_curve():
    backtest = make_backtest(["a"], cutoffs=200).with_columns(forecast=pl.col("actual") - 3)
    generator = np.random.default_rng(1)
    noise = generator.normal(size=backtest.height)
    noise[0] = 1_000.0
    noise[1:3] = (math.nan, math.inf)
    backtest = backtest.with_columns(forecast=pl.col("forecast") - pl.Series(noise))
    figure = residual_histogram_figure(backtest)
    bars, curve = figure.marks
    assert isinstance(bars, Bars)
    assert isinstance(curve, Line)
    residuals = 3 + noise[np.isfinite(noise)]
    assert bars.lengths.sum() == pytest.approx(100)
    assert len(residuals) == backtest.height - 2
    width = np.diff(np.asarray(bars.places))[0]
    assert bars.lengths[-1] == pytest.approx(100 / len(residuals))  # what is far outside is in the last bar
    mean, spread = residuals.mean(), residuals.std()
    peak = 100 * width / (spread * math.sqrt(2 * math.pi))
    assert curve.y.max() == pytest.approx(peak)
    assert curve.x[curve.y.argmax()] == pytest.approx(mean)
    area = ((curve.y[1:] + curve.y[:-1]) / 2 * np.diff(curve.x)).sum() / width
    assert area == pytest.approx(100, rel=1e-3)


def test_residuals_that_never_change_have_no_distribution():
    with pytest.raises(InputError, match="do not differ"):
        residual_histogram_figure(BACKTEST.with_columns(forecast=pl.col("actual") - 1, actual=pl.col("actual")).head(1))


def _reference(series: list[float], lag: int) -> float:
    """Return the autocorrelation as the formula in the docstring has it."""
    mean = sum(series) / len(series)
    above = sum((series[t] - mean) * (series[t + lag] - mean) for t in range(len(series) - lag))
    return above / sum((value - mean) ** 2 for value in series)


@given(st.lists(st.lists(st.floats(-100, 100), min_size=8, max_size=8), min_size=1, max_size=4))
def test_autocorrelation_is_that_of_the_formula(rows):
    series = np.array(rows)
    series[:, 0] += 300  # none is constant
    for lag, value in enumerate(autocorrelation(series, 5), 1):
        expected = sum(_reference(row, lag) for row in series.tolist()) / len(rows)
        assert value == pytest.approx(expected, abs=1e-9)


def test_residuals_one_step_ahead_are_taken_where_there_are_many_cutoffs():
    backtest = make_backtest(["a", "b"], cutoffs=40, horizon=3, apart=1)
    figure = residual_autocorrelation_figure(backtest.sample(fraction=1.0, shuffle=True, seed=0))
    bars, high, low, _ = figure.marks
    assert isinstance(bars, Bars)
    assert isinstance(high, Rule)
    assert isinstance(low, Rule)
    ahead = backtest.filter(pl.col("step") == 1).sort("cutoff")
    residuals = {
        name: [row["actual"] - row["forecast"] for row in ahead.filter(pl.col("unique_id") == name).to_dicts()]
        for name in ("a", "b")
    }
    expected = [(_reference(residuals["a"], lag) + _reference(residuals["b"], lag)) / 2 for lag in range(1, 21)]
    np.testing.assert_allclose(bars.lengths, expected)
    assert np.asarray(bars.places).tolist() == list(range(1, 21))
    assert high.y == pytest.approx(1.96 / math.sqrt(40))
    assert low.y == -high.y
    assert figure.x.label == "lag, cut-offs"
    assert figure.note.startswith(
        "Residuals one step ahead, at successive cut-offs, mean over 2 series of 40 cut-offs."
    )


def test_residuals_in_the_order_of_time_are_taken_where_there_are_few_cutoffs():
    backtest = make_backtest(["a"], cutoffs=6, horizon=8, apart=4)
    figure = residual_autocorrelation_figure(backtest, lags=3)
    rows = {}
    for row in backtest.sort("step", descending=True).to_dicts():
        rows[row["ds"]] = row["actual"] - row["forecast"]  # the shortest step comes last
    residuals = [rows[moment] for moment in sorted(rows)]
    bars = figure.marks[0]
    assert isinstance(bars, Bars)
    np.testing.assert_allclose(bars.lengths, [_reference(residuals, lag) for lag in (1, 2, 3)])
    assert figure.x.label == "lag, rows"
    assert "in the order of time" in figure.note


def test_a_missed_season_is_a_peak():
    backtest = make_backtest(["a", "b"], cutoffs=10, horizon=12)
    wave = pl.Series(np.tile(np.sin(2 * np.pi * np.arange(120) / 12), 2))
    figure = residual_autocorrelation_figure(backtest.with_columns(forecast=pl.col("actual") - wave))
    bars = figure.marks[0]
    assert isinstance(bars, Bars)
    assert bars.lengths[11] > 0.85
    assert bars.lengths[5] < -0.85


def test_series_of_different_lengths_and_constant_ones_are_no_obstacle():
    backtest = pl.concat([make_backtest(["a"], cutoffs=9), make_backtest(["b"], cutoffs=4, seed=1)])
    constant = make_backtest(["c"]).with_columns(forecast=pl.col("actual"))
    alone = residual_autocorrelation_figure(backtest, lags=3).marks[0]
    more = residual_autocorrelation_figure(pl.concat([backtest, constant]), lags=3).marks[0]
    assert isinstance(alone, Bars)
    assert isinstance(more, Bars)
    np.testing.assert_array_equal(alone.lengths, more.lengths)
    with pytest.raises(InputError, match="three residuals that differ"):
        residual_autocorrelation_figure(constant)


def test_the_error_by_step_is_that_of_a_loop():
    backtest = BACKTEST.with_columns(
        pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("actual").alias("actual"),
        pl.when(pl.int_range(pl.len()) == 7).then(float("nan")).otherwise("drift").alias("drift"),
    )
    figure = error_by_step_figure(backtest, name="nhits")
    lines = {mark.label: mark for mark in figure.marks if isinstance(mark, Line)}
    assert list(lines) == ["last value", "seasonal naive", "drift", "nhits"]
    for label, column in {"nhits": "forecast", "seasonal naive": "seasonal naive", "drift": "drift"}.items():
        for step in range(1, 5):
            errors = [
                abs(row["actual"] - row[column])
                for row in backtest.to_dicts()
                if row["step"] == step and row["actual"] is not None and not math.isnan(row["drift"])
            ]
            assert lines[label].y[step - 1] == pytest.approx(sum(errors) / len(errors))
    assert "The mean absolute error of nhits goes from" in figure.alt_text


def test_baselines_that_are_missing_or_empty_are_left_out():
    backtest = BACKTEST.drop("drift").with_columns(pl.lit(None).alias("last value"))
    labels = [mark.label for mark in error_by_step_figure(backtest).marks if isinstance(mark, Line)]
    assert labels == ["seasonal naive", "model"]


@pytest.mark.parametrize("make", FIGURES)
def test_pandas_gives_the_same(make):
    assert make(BACKTEST.to_pandas()).alt_text == make(BACKTEST).alt_text


@pytest.mark.parametrize("make", FIGURES)
def test_nothing_observed_is_an_error(make):
    with pytest.raises(InputError, match="both observed and forecast"):
        make(BACKTEST.with_columns(actual=pl.lit(None, pl.Float64)))
    with pytest.raises(InputError, match="there is none"):
        make(None)
    with pytest.raises(InputError, match="no column 'actual'"):
        make(BACKTEST.drop("actual"))


@pytest.mark.parametrize("make", FIGURES)
def test_ten_thousand_series_take_less_than_a_second(make):
    one = make_backtest(["a"], cutoffs=3, horizon=8)
    names = pl.DataFrame({"unique_id": [f"s{number}" for number in range(10_000)]})
    backtest = names.join(one.drop("unique_id"), how="cross")
    backtest = backtest.with_columns(
        forecast=pl.col("forecast") + pl.Series(np.random.default_rng(0).normal(size=backtest.height))
    )
    seconds = []
    for _ in range(3):
        began = time.process_time()
        make(backtest)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 2  # of all cores together


@pytest.mark.parametrize("make", FIGURES)
@pytest.mark.filterwarnings("error")
def test_strange_numbers_break_nothing(make):
    strange = pl.Series([math.nan, math.inf, -math.inf, None, 1e300, -1e300], dtype=pl.Float64)
    values = pl.concat([strange] * (BACKTEST.height // 6))
    try:
        figure = make(BACKTEST.with_columns(actual=values))
    except InputError:
        return
    assert figure.marks
