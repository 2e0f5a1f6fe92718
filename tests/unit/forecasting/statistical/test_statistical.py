"""Statistical models against statsforecast itself, and under odd series."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, DataWarning, InputError, MissingDependencyError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.statistical.library import load_models
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from tests.unit.forecasting.statistical.panels import demand, monthly, panel_of

HORIZON = 5
library = load_models("the test")
SIMPLE = ("naive", "seasonal_naive", "drift", "mean")
INTERMITTENT = ("croston_sba", "tsb", "adida", "imapa")
FAST = (*SIMPLE, *INTERMITTENT, "auto_theta")


def statistical(name: str, **settings: Any) -> nd.Statistical:
    return nd.Statistical(name, **{"horizon": HORIZON, "season_length": 4, **settings})


def values_of(table: pl.DataFrame, column: str = "forecast") -> np.ndarray:
    return table[column].to_numpy().reshape(-1, HORIZON)


def test_every_registered_name_is_tested() -> None:
    assert set(StatisticalMethod.registry.names()) == {*FAST, "auto_ets", "auto_ces", "auto_arima"}


THEIRS: dict[str, Any] = {
    "auto_ets": library.AutoETS(season_length=4),
    "auto_theta": library.AutoTheta(season_length=4),
    "auto_arima": library.AutoARIMA(season_length=4),
    "auto_ces": library.AutoCES(season_length=4),
    "croston_sba": library.CrostonSBA(),
    "adida": library.ADIDA(),
    "imapa": library.IMAPA(),
    "tsb": library.TSB(alpha_d=0.1, alpha_p=0.1),
}
# Compiling what auto_ces needs takes half a minute the first time.
NAMES = [pytest.param(name, marks=[pytest.mark.soak] * (name == "auto_ces")) for name in THEIRS]


@pytest.mark.parametrize("name", NAMES)
def test_forecasts_equal_those_of_statsforecast_run_directly(name: str) -> None:
    panel = (demand if name in INTERMITTENT else monthly)(count=1 if name == "auto_arima" else 2, length=30)
    levels = [] if name in INTERMITTENT else [80, 95]
    table = statistical(name).fit(panel).predict(levels=levels)
    for place in range(panel.num_series):
        y = panel.series(place).astype(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = THEIRS[name].forecast(y=y, h=HORIZON, level=levels or None)
        np.testing.assert_array_equal(values_of(table)[place], theirs["mean"])
        for column in (f"{end}-{level}" for level in levels for end in ("lo", "hi")):
            np.testing.assert_array_equal(values_of(table, column)[place], theirs[column])


@pytest.mark.parametrize("name", [pytest.param("auto_ces", marks=pytest.mark.long), "auto_arima"])
def test_long_season_is_repeated_by_models_that_cannot_have_it(name: str) -> None:
    steps = np.arange(90)
    y = 50 + 9 * np.sin(2 * np.pi * steps / 30) + np.random.default_rng(0).normal(0, 0.1, 90)
    found = values_of(statistical(name, season_length=30).fit(panel_of([y.tolist()])).predict())[0]
    np.testing.assert_allclose(found, 50 + 9 * np.sin(2 * np.pi * np.arange(90, 90 + HORIZON) / 30), atol=1)


@pytest.mark.parametrize("name", ["auto_ets", "auto_theta"])
def test_long_season_is_taken_out_by_stl_as_by_statsforecast(name: str) -> None:
    steps = np.arange(120)
    y = 50 + 0.1 * steps + 9 * np.sin(2 * np.pi * steps / 30) + np.random.default_rng(0).normal(0, 1, 120)
    panel = panel_of([y.tolist()])
    inner = library.AutoETS(season_length=1, model="ZZN") if name == "auto_ets" else library.AutoTheta(season_length=1)
    theirs = library.MSTL(season_length=30, trend_forecaster=inner).forecast(
        y=panel.y.astype(np.float64), h=HORIZON, level=[80]
    )
    table = statistical(name, season_length=30).fit(panel).predict(levels=[80])
    np.testing.assert_allclose(values_of(table)[0], theirs["mean"], rtol=1e-6)
    np.testing.assert_allclose(values_of(table, "hi-80")[0], theirs["hi-80"], rtol=1e-6)
    with pytest.warns(DataWarning, match=r"50 rows; a season of 30 needs 60"):
        statistical(name, season_length=30).fit(panel_of([y[:50].tolist()])).predict()


def test_intervals_of_a_model_without_its_own_are_as_wide_as_the_last_values_lie_around_its_mean() -> None:
    panel = demand(count=1)
    table = statistical("croston_sba").fit(panel).predict(quantiles=[0.8413447460685429])
    spread = np.sqrt(np.mean(np.square(panel.y[-24:].astype(np.float64) - table["forecast"][0])))
    np.testing.assert_allclose(table["q-0.841345"] - table["forecast"], spread)


def test_missing_values_lie_on_the_line_between_their_neighbours_and_leading_ones_are_left_out() -> None:
    whole = monthly(count=1, length=40).y.astype(float).tolist()
    holes, filled = list(whole), list(whole)
    holes[10] = holes[11] = holes[38] = holes[39] = float("nan")
    filled[10], filled[11] = (2 * whole[9] + whole[12]) / 3, (whole[9] + 2 * whole[12]) / 3
    filled[38] = filled[39] = whole[37]
    for name in ("auto_theta", "auto_ets"):
        one = statistical(name).fit(panel_of([[float("nan")] * 3 + holes])).predict()
        other = statistical(name).fit(panel_of([filled])).predict()
        np.testing.assert_allclose(values_of(one), values_of(other), rtol=1e-4)


def test_only_the_last_rows_count_where_the_history_is_limited() -> None:
    panel = monthly(count=2, length=60)
    limited = statistical("auto_theta", max_history=24).fit(panel)
    assert limited.fitted.context.lengths.tolist() == [24, 24]
    assert limited.predict()["forecast"].equals(statistical("auto_theta").fit(panel.tail(24)).predict()["forecast"])


def test_series_that_cannot_be_fitted_are_forecast_by_simpler_methods_and_listed() -> None:
    long = monthly(count=1, length=40).y.tolist()
    panel = panel_of([long, [1.0, 2, 3], [7.0] * 30, [float("nan")] * 20 + [4.0, 6.0, 5.0, 9.0, 8.0]])
    model = statistical("auto_ets").fit(panel)
    assert model.fallbacks.is_empty()
    with pytest.warns(DataWarning, match=r"auto_ets could not be fitted for 3 of 4 forecasts.*'s001' \(3 rows"):
        table = model.predict(levels=[80])
    assert model.fallbacks.columns == ["unique_id", "cutoff", "method", "reason"]
    assert model.fallbacks["unique_id"].to_list() == ["s001", "s002", "s003"]
    assert model.fallbacks["method"].to_list() == ["naive", "seasonal_naive", "seasonal_naive"]
    assert model.fallbacks["reason"].to_list() == ["3 rows; it needs 7", "constant", "5 rows; it needs 7"]
    assert values_of(table)[1:].tolist() == [[3.0] * 5, [7.0] * 5, [6.0, 5.0, 9.0, 8.0, 6.0]]
    assert values_of(table, "hi-80")[2].tolist() == [7.0] * 5


def test_window_without_observed_history_has_no_forecast_and_says_so() -> None:
    panel = panel_of([[7.0] * 30, [float("nan")] * 20 + [4.0, 6.0, 5.0, 9.0, 8.0]])
    ends = panel.offsets[1:]
    model = statistical("auto_ets").fit(panel)
    with pytest.warns(DataWarning, match="could not be fitted for 2 of 2"):
        found = model.forecast_windows(Windows(panel, 8, HORIZON, ends - HORIZON, ends), [80])
    assert model.fallbacks["cutoff"].to_list() == [24, 19]
    assert model.fallbacks["reason"].to_list() == ["constant", "no observed value"]
    assert found.point[0].tolist() == found.lower[80][0].tolist() == [7.0] * HORIZON
    assert np.isnan(found.point[1]).all()


def test_failing_optimiser_is_a_fallback_with_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    model = statistical("auto_theta").fit(monthly(count=1))

    def fail(*arguments: Any, **settings: Any) -> None:
        raise FloatingPointError("no convergence")

    monkeypatch.setattr(library.AutoTheta, "forecast", fail)
    with pytest.warns(DataWarning, match="FloatingPointError: no convergence"):
        table = model.predict()
    expected = statistical("seasonal_naive").fit(monthly(count=1)).predict()
    assert table.equals(expected)


KINDS = st.sampled_from(["walk", "constant", "intermittent", "zeros", "line", "gaps", "huge"])


def made(kind: str, length: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=length).cumsum()
    if kind == "gaps":
        walk[rng.random(length) < 0.4] = np.nan
        walk[rng.integers(length)] = 1.0
    series = {
        "constant": np.full(length, 3.5),
        "intermittent": rng.poisson(0.3, length).astype(float),
        "zeros": np.zeros(length),
        "line": 2.0 * np.arange(length),
        "huge": 1e12 * walk,
    }
    return series.get(kind, walk).tolist()


@pytest.mark.parametrize("name", FAST)
@settings(max_examples=10, deadline=None)
@given(data=st.lists(st.tuples(KINDS, st.integers(1, 40), st.integers(0, 99)), min_size=1, max_size=3))
def test_ragged_panels_give_finite_ordered_forecasts_of_the_right_length(name: str, data: Any) -> None:
    panel = panel_of([made(*item) for item in data])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = statistical(name).fit(panel).predict(levels=[80], quantiles=[0.5], horizon=7)
    assert table["unique_id"].to_list() == [one for one in panel.ids for _ in range(7)]
    numbers = table.select("lo-80", "q-0.5", "hi-80", "forecast").to_numpy()
    assert np.isfinite(numbers).all()
    assert (numbers[:, 0] <= numbers[:, 1]).all()
    assert (numbers[:, 1] <= numbers[:, 2]).all()


@pytest.mark.parametrize("name", [*FAST, "auto_ets"])
def test_changing_the_future_changes_no_forecast_of_a_window(name: str) -> None:
    panel = monthly(count=3, length=40)
    rows = panel.offsets[:-1] + np.array([20, 17, 12])
    windows = Windows(panel, 8, HORIZON, rows, rows + HORIZON)
    later = np.concatenate([np.arange(row, end) for row, end in zip(rows, panel.offsets[1:], strict=True)])
    other = panel_of([panel.series(place).tolist() for place in range(3)])
    other.y[later] = np.random.default_rng(5).normal(0, 1e4, len(later))
    model = statistical(name).fit(panel)
    before = model.forecast_windows(windows, [80])
    after = model.forecast_windows(Windows(other, 8, HORIZON, rows, rows + HORIZON), [80])
    np.testing.assert_array_equal(before.point, after.point)
    np.testing.assert_array_equal(before.upper[80], after.upper[80])
    assert not np.array_equal(before.actual, after.actual)
    alone = panel_of([panel.series(place)[: rows[place] - panel.offsets[place]].tolist() for place in range(3)])
    np.testing.assert_array_equal(values_of(model.predict(alone.to_frame())), before.point)


def test_season_follows_from_the_frequency() -> None:
    table = pl.DataFrame({"ds": pl.date_range(pl.date(2015, 1, 1), pl.date(2019, 12, 1), "1mo", eager=True)})
    model = nd.Statistical("seasonal_naive", horizon=12).fit(table.with_columns(y=pl.int_range(pl.len()) % 12))
    assert model.task.season_length == 12
    assert model.predict()["forecast"].to_list() == list(range(12))
    weekly = panel_of([np.random.default_rng(0).normal(size=30).tolist()], Frequency(1, "d"))
    assert nd.Statistical("naive", horizon=3).fit(weekly).task.season_length == 7


def test_global_random_state_is_not_touched_by_simulated_intervals() -> None:
    model = statistical("auto_theta").fit(monthly(count=1))
    np.random.seed(3)
    expected = np.random.get_state()[1].copy()
    model.predict(levels=[80])
    assert np.array_equal(np.random.get_state()[1], expected)


def test_horizon_of_predict_may_be_longer_than_that_of_the_task_with_intervals() -> None:
    model = statistical("auto_theta").fit(monthly(count=1))
    table = model.predict(levels=[80], horizon=20)
    assert table.height == 20
    assert np.array_equal(table["forecast"][:HORIZON], model.predict()["forecast"])


def test_forecasts_of_the_same_levels_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = statistical("auto_theta").fit(monthly(count=1))
    first = model.predict(levels=[80])
    monkeypatch.setattr(library.AutoTheta, "forecast", None)
    assert model.predict(levels=[80]).equals(first)


@pytest.mark.long
def test_several_processes_give_the_forecasts_and_fallbacks_of_one() -> None:
    panel = demand(count=40, length=30)
    panel = panel_of([*(panel.series(place).tolist() for place in range(40)), [float("nan")] * 2 + [1.0]])
    one, two = (statistical("auto_theta", jobs=jobs).fit(panel) for jobs in (1, 2))
    with pytest.warns(DataWarning, match="for 1 of 41"):
        expected = one.predict(levels=[80])
    with pytest.warns(DataWarning, match="for 1 of 41"):
        assert two.predict(levels=[80]).equals(expected)
    assert two.fallbacks.equals(one.fallbacks)


def table_with(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"ds": range(30), "y": np.arange(30.0) % 5, **columns})


@pytest.mark.parametrize("schema", [{"past": "x"}, {"future": "x"}, {"static": "x"}])
def test_covariates_are_refused_with_their_names(schema: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="takes no covariates, and the data have 'x'"):
        statistical("naive").fit(table_with(x=1.0), **schema)


def test_weights_future_and_initial_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match="takes no weights of rows"):
        statistical("naive").fit(table_with(w=1.0), weight="w")
    model = statistical("naive").fit(table_with())
    with pytest.raises(ConfigError, match="takes no covariates"):
        model.predict(future=table_with())
    with pytest.raises(ConfigError, match="no weights to start from"):
        statistical("naive").fit(table_with(), initial=model)


def test_settings_are_checked_with_the_closest_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'auto_ets'"):
        statistical("auto_est")
    with pytest.raises(ConfigError, match="Did you mean 'max_history'"):
        statistical("auto_ets", max_histori=100)
    with pytest.raises(ConfigError, match="jobs: 0 must be"):
        statistical("naive", jobs=0)
    with pytest.raises(ConfigError, match="horizon"):
        statistical("naive", horizon=0)


def test_with_settings_changes_exactly_what_was_named() -> None:
    model = statistical("mean", window=6, validation=0.3)
    changed = model.with_settings({"model.window": 3, "task.horizon": 9, "task.season_length": None})
    assert changed.to_dict() == statistical("mean", window=3, validation=0.3, horizon=9, season_length=None).to_dict()
    assert model.with_settings({"model": "auto_theta"}).method == StatisticalMethod.from_dict("auto_theta")
    assert model.with_settings({"statistical.jobs": 2}).jobs == 2
    assert model.clone().to_dict() == model.to_dict()
    for key, hint in {
        "task.horison": "horizon",
        "modle": "model",
        "model.windwo": "window",
        "statistical.job": "jobs",
    }.items():
        with pytest.raises(ConfigError, match=f"Did you mean '{hint}'"):
            model.with_settings({key: 1})
    with pytest.raises(ConfigError, match=r"unknown setting 'task.loss'"):
        model.with_settings({"task.loss": "mae"})


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsforecast.models", None)
    with pytest.raises(MissingDependencyError, match=r'auto_ets needs .* pip install "neuro-divergent\[statistical\]"'):
        statistical("auto_ets")
    statistical("drift").fit(monthly()).predict(levels=[80])


def test_saved_model_forecasts_the_same_and_refits_given_data_without_context(tmp_path: Path) -> None:
    panel = monthly()
    model = statistical("auto_theta", max_history=30).fit(panel)
    model.save(tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "statistical.json", "statistical.safetensors", "manifest.json"
    }  # fmt: skip
    loaded = nd.load(tmp_path / "model")
    assert isinstance(loaded, nd.Statistical)
    assert loaded.predict(levels=[80]).equals(model.predict(levels=[80]))
    assert loaded.method == model.method
    model.save(tmp_path / "bare", context=False)
    bare = nd.Statistical.load(tmp_path / "bare")
    assert bare.holds == {}
    with pytest.raises(InputError, match="pass them as data"):
        bare.predict()
    assert bare.predict(panel.to_frame(), levels=[80]).equals(model.predict(levels=[80]))


def test_nothing_is_held_out_where_no_series_is_long_enough() -> None:
    model = statistical("naive").fit(panel_of([[1.0, 2.0], [3.0]]))
    assert values_of(model.predict()).tolist() == [[2.0] * 5, [3.0] * 5]
    with pytest.raises(InputError, match="nothing was held out"):
        nd.evaluate(model)


def test_evaluate_scores_held_out_windows_with_intervals_and_an_honest_note() -> None:
    result = nd.evaluate(statistical("seasonal_naive").fit(monthly(count=3, length=60)), season_length=4)
    model, baseline = (result.table.filter(model=name) for name in ("seasonal_naive", "seasonal naive"))
    assert model.drop("model").equals(baseline.drop("model"))
    assert result.coverage["level"].to_list() == [80, 95]
    assert result.note == "Validation part: these values were not trained on."


def test_cross_validation_backtest_and_comparison_take_statistical_models(tmp_path: Path) -> None:
    panel = monthly(count=3, length=50)
    models = [statistical(name) for name in ("seasonal_naive", "auto_theta")]
    found = nd.cross_validate(models, panel, levels=[80], season_length=4, store=tmp_path / "folds")
    assert found.models == ("seasonal_naive", "auto_theta")
    assert np.allclose(found.forecasts["seasonal_naive"], found.forecasts["seasonal naive"])
    assert (found.forecasts["auto_theta-lo-80"] <= found.forecasts["auto_theta-hi-80"]).all()
    again = nd.cross_validate(models, panel, levels=[80], season_length=4, store=tmp_path / "folds")
    assert again.forecasts.equals(found.forecasts)
    assert set(nd.compare(found).table["model"]) >= {"seasonal_naive", "auto_theta"}
    tested = nd.backtest(models[0].fit(panel), cutoffs=2, season_length=4)
    assert tested.windows == 6


@pytest.mark.parametrize("method", ["split", "cqr", "adaptive"])
def test_conformal_intervals_cover_around_a_statistical_model(method: Any) -> None:
    rng = np.random.default_rng(1)
    panel = panel_of([rng.normal(0, 1, 120).tolist() for _ in range(12)])
    calibrated = nd.Conformal(statistical("mean"), method=method).fit(panel_before(panel, 20))
    ends = panel.offsets[1:]
    made = calibrated.forecast_windows(Windows(panel, 8, HORIZON, ends - 20, ends, HORIZON), levels=[80])
    inside = (made.actual >= made.lower[80]) & (made.actual <= made.upper[80])
    assert 0.7 < inside.mean() < 0.9  # 240 values: four standard errors are 0.1


def panel_before(panel: Panel, rows: int) -> Panel:
    return panel_of([panel.series(place)[:-rows].tolist() for place in range(panel.num_series)])
