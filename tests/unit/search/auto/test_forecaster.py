"""The automatic forecaster as a model: odd tables, intervals, saving, plans and messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError, UntrustedFileError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.search.auto import candidate as candidate_module
from neuro_divergent.search.auto.intervals import ErrorIntervals
from neuro_divergent.search.auto.plan import Plan
from neuro_divergent.search.auto.preset import PRESETS

HORIZON = 6


def series(name: str, length: int, seed: int = 0, level: float = 20.0) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    step = np.arange(length)
    values = level + 5 * np.sin(2 * np.pi * step / 12) + generator.normal(0, 0.5, length)
    return pl.DataFrame({"unique_id": name, "ds": pl.Series(step).cast(pl.Int64) + 1, "y": values})


TABLE = pl.concat([series(f"s{place}", 72, place, 20.0 + 10 * place) for place in range(6)])


def auto(**settings: Any) -> nd.AutoForecaster:
    usual: dict[str, Any] = {"horizon": HORIZON, "budget": 600, "preset": "fast", "jobs": 1, "season_length": 12}
    return nd.AutoForecaster(**{**usual, "models": ("nlinear", "auto_theta"), **settings})


def quick(**settings: Any) -> nd.AutoForecaster:
    """Return a forecaster with a budget for naive forecasts only."""
    return auto(budget=5, models=None, **settings)


@pytest.fixture(scope="module", autouse=True)
def few_steps() -> Iterator[None]:
    """Train networks for fewer steps than the preset has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "fast", dataclasses.replace(PRESETS["fast"], steps=150))
        yield


@pytest.fixture(scope="module")
def fitted() -> nd.AutoForecaster:
    return auto().fit(TABLE)


def test_a_search_combines_candidates_of_all_kinds_and_says_why(fitted: nd.AutoForecaster) -> None:
    table = fitted.leaderboard()
    assert isinstance(table, pl.DataFrame)
    complete = table.filter(pl.col("round") == "full")
    assert {"naive", "statistical", "network"} <= set(complete["kind"])
    scores = complete["score"].to_list()
    assert scores == sorted(scores)
    used = table.filter(pl.col("kind") != "combination")["weight"]
    assert used.sum() == pytest.approx(1)
    assert "MASE" in fitted.results.reason
    assert fitted.results.seconds < 600
    assert fitted.diagnose().is_healthy


def test_a_table_of_pandas_gives_tables_of_pandas() -> None:
    model = quick().fit(TABLE.to_pandas())
    assert isinstance(model.predict(), pd.DataFrame)
    assert isinstance(model.leaderboard(), pd.DataFrame)


def test_a_saved_model_forecasts_the_same_with_and_without_data(fitted: nd.AutoForecaster, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = nd.load(tmp_path / "model")
    assert isinstance(loaded, nd.AutoForecaster)
    expected = fitted.predict(levels=[80, 95], quantiles=[0.1])
    assert loaded.predict(levels=[80, 95], quantiles=[0.1]).equals(expected)
    assert loaded.leaderboard().equals(fitted.leaderboard())
    again = loaded.predict(TABLE, levels=[80, 95], quantiles=[0.1])
    for name in expected.columns[2:]:
        assert np.allclose(again[name], expected[name], rtol=1e-4, atol=1e-4)
    assert "errors" in loaded.holds


def test_a_model_saved_without_context_holds_no_series_and_forecasts_given_ones(
    fitted: nd.AutoForecaster, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model", context=False)
    loaded = nd.load(tmp_path / "model")
    with pytest.raises(InputError, match="without context"):
        loaded.predict()
    assert "series" not in loaded.holds
    assert np.allclose(loaded.predict(TABLE)["forecast"], fitted.predict()["forecast"], rtol=1e-3)


def test_a_damaged_description_is_refused(fitted: nd.AutoForecaster, tmp_path: Path) -> None:
    files = dict(fitted.to_files())
    with pytest.raises(UntrustedFileError):
        nd.AutoForecaster.from_files({**files, "auto.json": b'{"format": 1}'}, "there")
    with pytest.raises(UntrustedFileError):
        nd.AutoForecaster.from_files({**files, "stranger": b""}, "there")


def test_windows_are_forecast_from_what_comes_before_them(fitted: nd.AutoForecaster) -> None:
    panel = build_panel(TABLE)
    ends = panel.offsets[1:]
    windows = Windows(panel, fitted.task.history, HORIZON, ends - HORIZON, ends)
    made = fitted.forecast_windows(windows, levels=[80])
    known = pl.int_range(pl.len()).over("unique_id") < pl.len().over("unique_id") - HORIZON
    table = fitted.predict(TABLE.filter(known), levels=[80])
    assert np.allclose(made.point.reshape(-1), table["forecast"], rtol=1e-4)
    assert np.allclose(made.lower[80].reshape(-1), table["lo-80"], rtol=1e-4)
    assert np.array_equal(made.actual, panel.y[ends[:, None] - HORIZON + np.arange(HORIZON)])


def test_a_plan_reproduces_the_forecasts_without_a_search(fitted: nd.AutoForecaster) -> None:
    import tomllib

    document = tomllib.loads(fitted.to_toml())
    again = nd.AutoForecaster.from_plan(document["auto"], jobs=1).fit(TABLE)
    assert again.predict()["forecast"].equals(fitted.predict()["forecast"])
    assert again.fitted.plan == fitted.fitted.plan
    assert {row.candidate for row in again.results.rows} == {item.name for item in fitted.fitted.plan.members}


def test_clones_and_changed_settings_are_not_fitted(fitted: nd.AutoForecaster) -> None:
    clone = fitted.clone()
    assert not clone.is_fitted
    assert clone.plan is None
    assert clone.to_dict() == fitted.to_dict()
    changed = fitted.with_settings({"auto.budget": "2m", "task.horizon": 3})
    assert (changed.config.seconds, changed.config.horizon) == (120, 3)
    with pytest.raises(ConfigError, match=r"auto\.budgett"):
        fitted.with_settings({"auto.budgett": 3})
    with pytest.raises(ConfigError, match=r"model\.hidden_size"):
        fitted.with_settings({"model.hidden_size": 3})
    with pytest.raises(NotFittedError):
        clone.predict()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "bets"}, "Did you mean 'best'"),
        ({"metric": "coverage"}, "error of point forecasts"),
        ({"budget": "soon"}, "write 90s"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        auto(**settings)


def test_an_unknown_candidate_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="Did you mean 'nlinear'"):
        auto(models=("nlinaer",)).fit(TABLE)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(series("only", 60), id="one series"),
        pytest.param(series("only", 9), id="one short series"),
        pytest.param(series("only", 4), id="too short for a back-test"),
        pytest.param(pl.concat([series("a", 90), series("b", 12), series("c", 5)]), id="ragged"),
        pytest.param(
            pl.concat([series("a", 40), series("b", 40)]).with_columns(
                y=pl.when(pl.col("ds") % 4 == 0).then(pl.col("y").round()).otherwise(0.0)
            ),
            id="intermittent",
        ),
        pytest.param(series("a", 40).drop("unique_id"), id="no column of ids"),
    ],
)
def test_every_table_has_finite_forecasts_and_intervals_around_them(table: pl.DataFrame) -> None:
    made = quick().fit(table).predict(levels=[80, 95])
    assert len(made) == HORIZON * (1 if "unique_id" not in table.columns else table["unique_id"].n_unique())
    values = made.select("forecast", "lo-80", "hi-80", "lo-95", "hi-95").to_numpy()
    assert np.isfinite(values).all()
    assert (made["lo-95"] <= made["lo-80"]).all()
    assert (made["lo-80"] <= made["forecast"]).all()
    assert (made["hi-80"] >= made["forecast"]).all()


def test_constant_series_are_forecast_as_they_are() -> None:
    table = pl.concat([series("a", 40).with_columns(y=pl.lit(3.0)), series("b", 40)])
    with pytest.warns(nd.errors.DataWarning, match="constant"):
        model = quick().fit(table)
    made = model.predict(levels=[80]).filter(pl.col("unique_id") == "a")
    assert np.allclose(made["forecast"], 3.0)


def test_the_doctor_says_so_where_nothing_beats_the_seasonal_naive_forecast() -> None:
    generator = np.random.default_rng(0)
    changes = generator.normal(0, 4, (20, 8, 12))  # each phase of the season is a random walk of its own
    changes[:, 0] = generator.normal(50, 40, (20, 12))
    values = np.cumsum(changes, axis=1).reshape(20, 96)
    table = pl.concat(
        [pl.DataFrame({"unique_id": f"s{place}", "ds": np.arange(96), "y": row}) for place, row in enumerate(values)]
    )
    model = quick().fit(table)
    (finding,) = model.diagnose().findings
    assert finding.rule == "auto_baseline"
    assert model.results.rows[0].candidate == "seasonal_naive"


def test_without_the_extra_statistical_models_are_left_out_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import neuro_divergent.search.auto.run as run

    assert candidate_module.has_statistical()
    monkeypatch.setattr(run, "has_statistical", lambda: False)
    model = quick().fit(TABLE)
    assert "statistical" not in set(model.leaderboard()["kind"])
    assert sum("neuro-divergent[statistical]" in note for note in model.results.notes) == 1


def test_a_short_budget_gives_naive_forecasts_in_time() -> None:
    model = nd.AutoForecaster(horizon=HORIZON, budget="5s", season_length=12).fit(TABLE)
    assert model.results.seconds < 60  # a fraction of a second where nobody else computes
    assert {item.kind for item in model.fitted.plan.members} == {"naive"}


def test_conformal_intervals_cover_new_values_of_the_same_kind() -> None:
    table = pl.concat([series(f"s{place:03d}", 60 + HORIZON, place) for place in range(150)])
    known = pl.int_range(pl.len()).over("unique_id") < 60
    made = quick().fit(table.filter(known)).predict(levels=[80, 95])
    actual = table.filter(~known)["y"]
    for level in (80, 95):
        inside = ((actual >= made[f"lo-{level}"]) & (actual <= made[f"hi-{level}"])).mean()
        assert inside is not None
        assert abs(100 * inside - level) < 6


def test_levels_beyond_the_number_of_errors_are_extrapolated_as_normal() -> None:
    intervals = ErrorIntervals(np.array([[1.0], [-2.0], [3.0]]), 4)
    bounds = intervals.bounds(np.zeros((1, 1)), np.ones(1), [50.0, 99.0])
    assert bounds[50.0][1][0, 0] == 2.0
    assert bounds[99.0][1][0, 0] == pytest.approx(3.0 * 2.5758 / 1.1503, rel=1e-3)


def test_weights_of_a_plan_must_add_up() -> None:
    member = {"name": "naive", "kind": "naive", "model": "naive", "weight": 0.5}
    with pytest.raises(ConfigError, match=r"add up to 0\.5"):
        Plan.from_dict({"setting": {"horizon": 3, "season": 1}, "members": [member]})


def test_future_covariates_reach_the_networks_that_use_them() -> None:
    generator = np.random.default_rng(0)
    price = generator.choice([0.0, 1.0], 200)
    step = np.arange(200)
    table = pl.DataFrame(
        {"unique_id": "a", "ds": step, "y": 10 + 20 * price + generator.normal(0, 0.1, 200), "price": price}
    )
    known, ahead = table.head(200 - HORIZON), table.tail(HORIZON)
    model = auto(models=("mlp",), season_length=1).fit(known, future=["price"])
    made = model.predict(future=ahead.drop("y"))
    assert np.corrcoef(made["forecast"], ahead["y"])[0, 1] > 0.9
    with pytest.raises(nd.errors.DataError, match="future covariates price"):
        model.predict()


def test_a_directory_keeps_the_search_and_a_second_fit_reads_it(tmp_path: Path) -> None:
    first = auto(models=("nlinear",)).fit(TABLE, directory=tmp_path / "run")
    results = sorted(path.name for path in (tmp_path / "run" / "results").iterdir())
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "results").rglob("*")}
    second = auto(models=("nlinear",)).fit(TABLE, directory=tmp_path / "run")
    assert second.predict().equals(first.predict())
    assert sorted(path.name for path in (tmp_path / "run" / "results").iterdir()) == results
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    assert nd.load(tmp_path / "run").predict().equals(first.predict())
    with pytest.raises(InputError, match="another config"):
        auto(models=("nlinear",), seed=2).fit(TABLE, directory=tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(InputError, match="is not empty"):
        quick().fit(TABLE, directory=tmp_path / "other")
    with pytest.raises(InputError, match="another data"):
        auto(models=("nlinear",)).fit(TABLE.head(60), directory=tmp_path / "run")
