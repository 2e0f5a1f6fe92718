"""Scores of frames against the functions on arrays, loops in plain Python and each other."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import ConfigError, DataError, InputError
from neuro_divergent.evaluation import metrics, probabilistic
from neuro_divergent.evaluation.scoring.formulas import METRICS
from neuro_divergent.evaluation.scoring.score import score

SERIES, CUTOFFS, HORIZON, LENGTH, SEASON = ("a", "b", "c"), (20, 25), 5, 30, 4
EVERYTHING = tuple(METRICS)


def make_history() -> pl.DataFrame:
    random = np.random.default_rng(1)
    names = np.repeat(SERIES, LENGTH)
    return pl.DataFrame(
        {"unique_id": names, "ds": np.tile(np.arange(1, LENGTH + 1), len(SERIES)), "y": random.normal(5, 3, len(names))}
    )


def make_forecasts(*models: str) -> pl.DataFrame:
    """Return forecasts of two models after each cut-off, with two unobserved values, in no order."""
    random = np.random.default_rng(2)
    rows = [
        {"unique_id": name, "ds": cutoff + step, "cutoff": cutoff, "step": step, "fold": fold}
        for name in SERIES
        for fold, cutoff in enumerate(CUTOFFS)
        for step in range(1, HORIZON + 1)
    ]
    frame = pl.DataFrame(rows).join(make_history().rename({"y": "actual"}), on=["unique_id", "ds"], how="left")
    frame = frame.with_columns(
        actual=pl.when(pl.col("ds") == 23, pl.col("unique_id") != "c").then(None).otherwise("actual")
    )
    columns = {}
    for model in models or ("good", "poor"):
        point = frame["actual"].fill_null(4.0).to_numpy() + random.normal(size=len(frame))
        columns |= {
            model: point,
            f"{model}-lo-80": point - 1,
            f"{model}-hi-80": point + 1.5,
            f"{model}-lo-50": point - 0.3,
            f"{model}-hi-50": point + 0.4,
            f"{model}-q-0.5": point + 0.1,
        }
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()}).sample(
        fraction=1, shuffle=True, seed=0
    )


def windows(frame: pl.DataFrame, column: str) -> Floats:
    """Return a column as ``(windows, horizon)``."""
    ordered = frame.sort("unique_id", "cutoff", "step")[column].cast(pl.Float64).to_numpy()
    return ordered.reshape(-1, frame["step"].n_unique())


def naive_errors(frame: pl.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return the naive errors up to the first cut-off, and the last value, of each window, by a loop."""
    history = {name: part["y"].to_list() for (name,), part in make_history().group_by("unique_id")}
    scale, squared, last = [], [], []
    for name, cutoff in frame.select("unique_id", "cutoff").unique().sort("unique_id", "cutoff").iter_rows():
        seen = history[name][: min(CUTOFFS)]
        pairs = [abs(seen[row] - seen[row - SEASON]) for row in range(SEASON, len(seen))]
        scale.append(sum(pairs) / len(pairs))
        squared.append(math.sqrt(sum(pair**2 for pair in pairs) / len(pairs)))
        last.append(history[name][cutoff - 1])
    return np.array(scale), np.array(squared), np.array(last)


def by_arrays(frame: pl.DataFrame, model: str, reference: str) -> dict[str, float]:
    """Return every score of a model from the functions on arrays."""
    actual, forecast, other = (windows(frame, name) for name in ("actual", model, reference))
    observed = ~np.isnan(actual)
    scale, squared, last = naive_errors(frame)
    names = {0.1: "lo-80", 0.25: "lo-50", 0.5: "q-0.5", 0.75: "hi-50", 0.9: "hi-80"}
    quantiles = {share: windows(frame, f"{model}-{name}") for share, name in names.items()}
    plain = {
        name: getattr(metrics, name)(actual, forecast, observed)
        for name in ("mae", "mse", "rmse", "bias", "mape", "smape", "wape", "r2")
    }
    losses = {share: probabilistic.pinball(actual, values, share, observed) for share, values in quantiles.items()}
    return {
        **plain,
        "mase": metrics.mase(actual, forecast, scale, observed),
        "rmsse": metrics.rmsse(actual, forecast, squared, observed),
        "owa": metrics.owa(actual, forecast, other, scale, observed),
        "skill": metrics.skill(plain["mae"], metrics.mae(actual, other, observed)),
        "directional_accuracy": metrics.directional_accuracy(actual, forecast, last, observed),
        "pinball": sum(losses.values()) / 5,
        "crps": probabilistic.crps_quantiles(actual, quantiles, observed),
        "scaled_crps": probabilistic.scaled_crps(actual, quantiles, observed),
        "calibration_error": probabilistic.calibration_error(actual, quantiles, observed),
        **{f"calibration-{share:g}": probabilistic.calibration(actual, quantiles[share], observed) for share in names},
        **{
            f"{name}-{level}": value
            for level, (low, high) in {50: (0.25, 0.75), 80: (0.1, 0.9)}.items()
            for name, value in {
                "coverage": metrics.coverage(actual, quantiles[low], quantiles[high], observed),
                "width": metrics.width(quantiles[low], quantiles[high], observed),
                "winkler": probabilistic.winkler(actual, quantiles[low], quantiles[high], level, observed),
            }.items()
        },
    }


def score_everything(frame: Any, **settings: Any) -> Any:
    return score(frame, metrics=EVERYTHING, train=make_history(), season_length=SEASON, reference="poor", **settings)


@pytest.mark.parametrize("by", [(), ("unique_id",), ("fold",), ("unique_id", "cutoff")])
def test_every_metric_is_that_of_the_arrays_in_every_group(by: tuple[str, ...]) -> None:
    frame = make_forecasts()
    scores = score_everything(frame, by=by)
    groups = frame.partition_by(by, as_dict=True) if by else {(): frame}
    assert len(scores) == 2 * len(groups)
    for key, part in groups.items():
        for model in ("good", "poor"):
            row = scores.filter(
                pl.col("model") == model, *[pl.col(name) == value for name, value in zip(by, key, strict=True)]
            )
            found = row.drop(*by, "model", "values").row(0, named=True)
            assert row["values"].item() == part["actual"].count()
            assert found == pytest.approx(by_arrays(part, model, "poor"))


def test_by_step_and_by_another_column() -> None:
    frame = make_forecasts().with_columns(
        region=pl.col("unique_id").replace({"a": "north", "b": "south", "c": "south"})
    )
    by_step = score(frame, metrics="mae", by="step")
    for step, model, mae in by_step.select("step", "model", "mae").iter_rows():
        part = frame.filter(pl.col("step") == step, pl.col("actual").is_not_null())
        assert mae == pytest.approx((part["actual"] - part[model]).abs().mean())
    assert score(frame, metrics="mae", by="region")["region"].to_list() == ["north", "north", "south", "south"]


def test_a_directional_accuracy_by_step_counts_moves_to_that_step() -> None:
    frame = make_forecasts("good")
    found = score(frame, metrics="directional_accuracy", by="step")["directional_accuracy"].to_list()
    assert found[0] is None  # nothing says what came before the first step
    actual, forecast = windows(frame, "actual"), windows(frame, "good")
    for step in range(1, HORIZON):
        pairs = [
            np.sign(actual[window, step] - actual[window, step - 1])
            == np.sign(forecast[window, step] - forecast[window, step - 1])
            for window in range(len(actual))
            if not np.isnan(actual[window, step - 1 : step + 1]).any()
        ]
        assert found[step] == pytest.approx(100 * np.mean(pairs))


def test_a_step_that_is_not_in_the_table_is_not_jumped_over() -> None:
    frame = make_forecasts("good")
    hidden = frame.with_columns(actual=pl.when(pl.col("step") == 3).then(None).otherwise("actual"))
    absent = frame.filter(pl.col("step") != 3)
    by_step = [score(table, metrics="directional_accuracy", by="step") for table in (hidden, absent)]
    assert_frame_equal(by_step[0].filter(pl.col("step") != 3), by_step[1])
    assert by_step[1].filter(pl.col("step") == 4)["directional_accuracy"].item() is None


def test_r2_of_a_constant_is_null() -> None:
    frame = pl.DataFrame({"unique_id": ["a"] * 1001 + ["b"] * 2, "actual": [0.1] * 1001 + [1.0, 2.0], "forecast": 1.0})
    assert score(frame, metrics="r2", by="unique_id")["r2"].to_list() == [None, pytest.approx(-1)]


def test_models_are_in_the_order_of_their_columns_and_groups_are_sorted() -> None:
    scores = score(make_forecasts("z", "b"), metrics="mae", by="unique_id")
    assert scores["model"].to_list() == ["z", "b"] * 3
    assert scores["unique_id"].to_list() == ["a", "a", "b", "b", "c", "c"]


def test_chosen_models_and_a_reference_that_is_none_of_them() -> None:
    frame = make_forecasts("first", "second", "third")
    scores = score(frame, models="third", metrics=("mae", "skill", "skill-winkler-80"), reference="first")
    assert scores["model"].to_list() == ["third"]
    both = score(frame, metrics=("mae", "winkler-80"))
    for column, source in (("skill", "mae"), ("skill-winkler-80", "winkler-80")):
        first, _, third = both[source]
        assert scores[column].item() == pytest.approx(1 - third / first)


def test_columns_without_the_name_of_a_model_belong_to_forecast() -> None:
    frame = make_forecasts("forecast")
    bare = frame.rename(lambda name: name.removeprefix("forecast-"))
    assert "lo-80" in bare.columns
    assert_frame_equal(
        score(bare, metrics=("mae", "crps", "coverage")), score(frame, metrics=("mae", "crps", "coverage"))
    )


def test_the_usual_metrics_follow_from_what_is_there() -> None:
    frame = make_forecasts("forecast")
    point = frame.select("unique_id", "ds", "actual", "forecast")
    assert score(point).columns == ["model", "values", "mae", "rmse", "smape", "wape", "bias"]
    columns = score(frame, train=make_history(), reference="forecast").columns
    assert columns[7:] == ["mase", "crps", "coverage-50", "coverage-80", "width-50", "width-80", "skill"]


def test_one_level_or_quantile_can_be_named() -> None:
    scores = score(make_forecasts("good"), metrics=("coverage-80", "pinball-0.1", "calibration-0.5"))
    everything = score(make_forecasts("good"), metrics=("coverage", "calibration"))
    assert scores.columns == ["model", "values", "coverage-80", "pinball-0.1", "calibration-0.5"]
    assert scores["coverage-80"].item() == everything["coverage-80"].item()


def test_each_series_counts_the_same_when_asked() -> None:
    frame = make_forecasts()
    scores = score_everything(frame, aggregate="series")
    single = score_everything(frame, by="unique_id")
    for name in set(scores.columns) - {"model", "values", "owa", "skill"}:
        for model in ("good", "poor"):
            expected = single.filter(pl.col("model") == model)[name].mean()
            assert scores.filter(pl.col("model") == model)[name].item() == pytest.approx(expected), name
    # What compares with a reference compares the means, as the M4 competition does.
    good, poor = scores.rows(named=True)
    expected = (good["mase"] / poor["mase"] + good["smape"] / poor["smape"]) / 2
    assert good["owa"] == pytest.approx(expected)
    assert good["skill"] == pytest.approx(1 - good["mae"] / poor["mae"])


def test_each_series_counts_the_same_within_other_groups() -> None:
    frame = make_forecasts("good").filter(~((pl.col("unique_id") == "a") & (pl.col("fold") == 1)))
    scores = score(frame, metrics="rmse", by="fold", aggregate="series")
    single = score(frame, metrics="rmse", by=("fold", "unique_id"))
    for fold, rmse in scores.select("fold", "rmse").iter_rows():
        assert rmse == pytest.approx(single.filter(pl.col("fold") == fold)["rmse"].mean())


def test_weights_of_values_are_as_good_as_repeating_them() -> None:
    frame = make_forecasts().with_columns(weight=pl.int_range(pl.len()) % 4)
    names = [name for name in EVERYTHING if name != "directional_accuracy"]  # repeated rows are no steps
    repeated = frame.select(pl.all().repeat_by("weight").explode()).drop_nulls("weight")
    settings = {"metrics": names, "train": make_history(), "season_length": SEASON, "reference": "poor"}
    for by in ((), ("unique_id",)):
        weighted = score(frame, weight="weight", by=by, **settings).drop("values")
        assert_frame_equal(weighted, score(repeated.drop("weight"), by=by, **settings).drop("values"))


def test_weights_of_series() -> None:
    frame = make_forecasts("good")
    weights = pl.DataFrame({"unique_id": ["c", "a", "b"], "size": [3.0, 1.0, 0.0]})
    single = dict(score(frame, metrics="rmse", by="unique_id").select("unique_id", "rmse").iter_rows())
    found = score(frame, metrics="rmse", weight=weights, aggregate="series")["rmse"].item()
    assert found == pytest.approx((single["a"] + 3 * single["c"]) / 4)
    joined = frame.join(weights, on="unique_id")
    together = score(frame, metrics=("mae", "r2"), weight=weights)
    assert_frame_equal(together, score(joined, metrics=("mae", "r2"), weight="size"))


def test_weights_that_are_all_zero_leave_nothing() -> None:
    frame = make_forecasts("good").with_columns(weight=pl.lit(0))
    assert score(frame, metrics=("mae", "coverage"), weight="weight").row(0)[2:] == (None, None, None)


def test_what_one_model_lacks_counts_for_none() -> None:
    frame = make_forecasts("good", "poor")
    holes = frame.with_columns(poor=pl.when(pl.col("step") == 2).then(None).otherwise("poor"))
    scores = score(holes, metrics="mae")
    assert_frame_equal(scores, score(frame.filter(pl.col("step") != 2), metrics="mae"))
    alone = score(holes, metrics="mae", models="good")
    assert_frame_equal(alone, score(frame, metrics="mae", models="good"))
    nan = holes.with_columns(pl.col("poor").fill_null(math.nan), pl.col("actual").fill_null(math.nan))
    assert_frame_equal(score(nan, metrics="mae"), scores)


def test_a_group_of_which_nothing_was_observed_is_null() -> None:
    frame = make_forecasts("good").with_columns(
        actual=pl.when(pl.col("unique_id") == "b").then(None).otherwise("actual"),
    )
    scores = score_everything(frame.with_columns(poor=pl.col("good")), models="good", by="unique_id")
    assert scores["values"].to_list()[1] == 0
    assert set(scores.drop("unique_id", "model", "values").row(1)) == {None}
    nothing = score(frame.with_columns(actual=pl.lit(None, pl.Float64)), metrics=("mae", "r2", "crps"))
    assert nothing.row(0) == ("good", 0, None, None, None)
    assert score(frame.with_columns(actual=pl.lit(None)), metrics="mae").row(0) == ("good", 0, None)


def test_models_without_a_point_or_quantiles_have_no_such_scores() -> None:
    frame = make_forecasts("full").with_columns(only=pl.col("full") + 1).drop("full")
    scores = score(frame, metrics=("mae", "crps", "coverage-80", "directional_accuracy"))
    assert scores["model"].to_list() == ["full", "only"]
    assert [value is None for value in scores.row(0)[2:]] == [True, False, False, True]
    assert [value is None for value in scores.row(1)[2:]] == [False, True, True, False]


def test_models_are_judged_by_the_quantiles_they_have_in_common() -> None:
    frame = make_forecasts("one", "two").drop("two-q-0.5", "two-lo-50")
    found = score(frame, metrics="crps")["crps"].to_list()
    assert found == pytest.approx(score(frame.drop("one-q-0.5", "one-lo-50"), metrics="crps")["crps"].to_list())
    nothing = frame.select("unique_id", "ds", "actual", "one-lo-80", "two-hi-80")
    with pytest.raises(InputError, match="no quantile in common"):
        score(nothing, metrics="crps")


def test_a_scale_of_zero_leaves_a_series_out() -> None:
    history = make_history().with_columns(y=pl.when(pl.col("unique_id") == "a").then(7.0).otherwise("y"))
    frame = make_forecasts("good")
    scores = score(frame, metrics=("mase", "rmsse"), by="unique_id", train=history, season_length=SEASON)
    assert scores.row(0)[3:] == (None, None)
    assert all(value is not None for value in scores.row(1)[3:])
    mean = score(frame, metrics="mase", train=history, season_length=SEASON, aggregate="series")["mase"].item()
    assert mean == pytest.approx(scores["mase"].mean())


def test_nothing_after_the_first_cutoff_touches_the_scale() -> None:
    frame, history = make_forecasts("good"), make_history()
    changed = history.with_columns(y=pl.when(pl.col("ds") > min(CUTOFFS)).then(pl.col("y") * 1000).otherwise("y"))
    settings = {"metrics": ("mase", "rmsse"), "season_length": SEASON}
    assert_frame_equal(score(frame, train=history, **settings), score(frame, train=changed, **settings))
    earlier = history.with_columns(y=pl.when(pl.col("ds") == min(CUTOFFS)).then(pl.col("y") + 1000).otherwise("y"))
    assert (
        score(frame, train=earlier, **settings)["mase"].item() < score(frame, train=history, **settings)["mase"].item()
    )


def test_without_cutoffs_the_history_ends_before_the_first_forecast() -> None:
    frame = make_forecasts("good").filter(pl.col("fold") == 0)
    settings = {"metrics": ("mase", "rmsse"), "season_length": SEASON, "train": make_history()}
    assert_frame_equal(score(frame.drop("cutoff"), **settings), score(frame, **settings))


def test_missing_rows_of_the_history_are_no_neighbours() -> None:
    history = make_history()
    holes = history.with_columns(y=pl.when(pl.col("ds").is_in([7, 8, 15])).then(None).otherwise("y"))
    settings = {"metrics": ("mase", "rmsse"), "season_length": SEASON}
    gaps = holes.drop_nulls().sample(fraction=1, shuffle=True, seed=1)
    frame = make_forecasts("good")
    assert_frame_equal(score(frame, train=gaps, **settings), score(frame, train=holes, **settings))
    assert score(frame, train=gaps, **settings)["mase"].item() != score(frame, train=history, **settings)["mase"].item()


@pytest.mark.parametrize(
    ("to_time", "season"),
    [
        (lambda step: dt.date(2024, 1, 1) + dt.timedelta(days=step), 7),
        (lambda step: dt.datetime(2024, 1, 1) + dt.timedelta(hours=step), 24),
        (lambda step: dt.date(2020 + step // 12, step % 12 + 1, 1), 12),
    ],
)
def test_the_season_follows_from_the_frequency(to_time: Callable[[int], Any], season: int) -> None:
    def dated(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        return frame.with_columns(pl.Series(name, [to_time(step) for step in frame[name]]) for name in columns)

    frame, history = make_forecasts("good").with_columns(cutoff=pl.lit(28)), make_history()
    found = score(dated(frame, "ds", "cutoff"), metrics="mase", train=dated(history, "ds"))
    assert_frame_equal(found, score(frame, metrics="mase", train=history, season_length=season))


def test_dates_and_datetimes_are_the_same_times() -> None:
    day = dt.date(2024, 1, 1)
    frame = make_forecasts("good").with_columns(cutoff=pl.lit(day) + pl.duration(days=pl.col("cutoff")))
    history = make_history().with_columns(ds=pl.lit(day) + pl.duration(days=pl.col("ds")))
    exact = frame.with_columns(pl.col("cutoff").cast(pl.Datetime("ns")))
    for other in (history, history.with_columns(pl.col("ds").cast(pl.Datetime("ms")))):
        assert_frame_equal(score(exact, metrics="mase", train=other), score(frame, metrics="mase", train=history))


def test_pandas_gives_what_polars_gives() -> None:
    frame, history = make_forecasts(), make_history()
    day = pl.lit(dt.datetime(2024, 1, 1))
    frame = frame.with_columns((day + pl.duration(days=pl.col(name))).alias(name) for name in ("ds", "cutoff"))
    history = history.with_columns(ds=day + pl.duration(days=pl.col("ds")))
    in_pandas = [pd.DataFrame(table.to_dict(as_series=False)) for table in (frame, history)]
    for by in ((), "unique_id", ("cutoff", "step")):
        settings: dict[str, Any] = {"metrics": EVERYTHING, "by": by, "reference": "poor", "season_length": SEASON}
        expected = score(frame, train=history, **settings)
        found = score(in_pandas[0], train=in_pandas[1], **settings)
        assert isinstance(found, pd.DataFrame)
        assert list(found.columns) == expected.columns
        for name in expected.columns:
            ours, theirs = expected[name].to_list(), found[name].tolist()
            if expected[name].dtype == pl.Float64:
                np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), rtol=1e-12)
            else:
                assert [str(value).split(" ")[0] for value in theirs] == [str(value).split(" ")[0] for value in ours]


def test_files_and_other_names_of_columns(tmp_path: Any) -> None:
    frame, history = make_forecasts("good"), make_history()
    names = {"unique_id": "shop", "ds": "day", "actual": "sold"}
    frame.rename(names).write_csv(tmp_path / "forecasts.csv")
    history.rename({"unique_id": "shop", "ds": "day", "y": "units"}).write_parquet(tmp_path / "history.parquet")
    found = score(
        tmp_path / "forecasts.csv",
        train=tmp_path / "history.parquet",
        season_length=SEASON,
        id="shop",
        time="day",
        target="sold",
        train_target="units",
    )
    assert_frame_equal(found, score(frame, train=history, season_length=SEASON))


def test_a_table_of_one_series_needs_no_name_for_it() -> None:
    frame, history = (table.filter(pl.col("unique_id") == "a") for table in (make_forecasts("good"), make_history()))
    settings = {"metrics": ("mase", "directional_accuracy"), "season_length": SEASON}
    nameless = score(frame.drop("unique_id"), train=history.drop("unique_id"), aggregate="series", **settings)
    assert_frame_equal(nameless, score(frame, train=history, **settings))


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(-9, 9), st.integers(-9, 9), st.booleans()), min_size=1))
@settings(max_examples=60, deadline=None)
def test_any_table_against_a_loop_and_in_any_order(rows: list[tuple[str, int, int, bool]]) -> None:
    names, actual, forecast, seen = zip(*rows, strict=True)
    frame = pl.DataFrame(
        {
            "unique_id": names,
            "ds": range(len(rows)),
            "actual": [value if here else None for value, here in zip(actual, seen, strict=True)],
            "forecast": forecast,
        },
        schema_overrides={"actual": pl.Int64},
    )
    scores = score(frame, metrics=("mae", "rmse", "mape", "wape"), by="unique_id")
    assert_frame_equal(scores, score(frame.reverse(), metrics=("mae", "rmse", "mape", "wape"), by="unique_id"))
    assert scores["unique_id"].to_list() == sorted(set(names))
    for row in scores.iter_rows(named=True):
        pairs = [(a, f) for name, a, f, here in rows if here and name == row["unique_id"]]
        errors = [abs(f - a) for a, f in pairs]
        relative = [abs(f - a) / abs(a) for a, f in pairs if a]
        size = sum(abs(a) for a, _ in pairs)
        assert row["values"] == len(pairs)
        assert row["mae"] == (pytest.approx(sum(errors) / len(pairs)) if pairs else None)
        assert row["rmse"] == (pytest.approx(math.sqrt(sum(e**2 for e in errors) / len(pairs))) if pairs else None)
        assert row["mape"] == (pytest.approx(100 * sum(relative) / len(relative)) if relative else None)
        assert row["wape"] == (pytest.approx(100 * sum(errors) / size) if size else None)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"metrics": "mease"}, ConfigError, r"Unknown metric 'mease'\. Did you mean 'mase'\?"),
        ({"metrics": "mae-80"}, ConfigError, "'mae' takes no number"),
        ({"metrics": "coverage-high"}, ConfigError, "'high' is not a number"),
        ({"metrics": "coverage-95"}, InputError, r"'coverage-95': no forecasts of that level; found 50, 80\."),
        ({"metrics": "pinball-0.3"}, InputError, "no forecasts of that quantile; found 0.1, 0.25, 0.5, 0.75, 0.9"),
        ({"metrics": ()}, InputError, "metrics: name at least one"),
        ({"metrics": "mase"}, InputError, "'mase' needs the history of the series: pass it as train="),
        ({"metrics": "skill"}, InputError, "'skill' compares with another model: pass reference="),
        ({"metrics": "owa", "reference": "good"}, InputError, "'mase' needs the history"),
        ({"metrics": "owa-mae", "reference": "good"}, ConfigError, "'owa' takes no other metric"),
        ({"metrics": "skill-bias", "reference": "good"}, ConfigError, "'bias' is not a single error metric"),
        ({"metrics": "skill-winkler", "reference": "good"}, ConfigError, "'winkler' is not a single error metric"),
        ({"models": "goood"}, DataError, r"no model 'goood'; found good\. Did you mean 'good'\?"),
        ({"reference": "naive"}, DataError, "no model 'naive'; found good"),
        ({"by": "stepp"}, DataError, r"column 'stepp' missing.*Did you mean 'step'\?"),
        ({"by": ("step", "step")}, InputError, "by: 'step' would be in the result twice"),
        ({"id": "shop"}, DataError, "column 'shop' missing"),
        ({"target": "y"}, DataError, "column 'y' missing"),
        ({"target": "unique_id"}, DataError, "column 'unique_id' is String, expected numbers"),
        ({"aggregate": "median"}, InputError, "aggregate: 'median' must be 'mean' or 'series'"),
        ({"weight": "wheight"}, DataError, "column 'wheight' missing"),
        ({"weight": "good"}, DataError, "column 'good', row .* is not a weight; it must be zero or more"),
        ({"weight": pl.DataFrame({"unique_id": ["a", "b"], "w": [1, 2]})}, DataError, "series 'c' has none"),
        ({"weight": pl.DataFrame({"unique_id": ["a", "a"], "w": [1, 2]})}, DataError, "series 'a' occurs twice"),
        ({"weight": pl.DataFrame({"unique_id": ["a"], "w": [-1]})}, DataError, "weight, row 1: -1 is not a weight"),
        ({"weight": pl.DataFrame({"unique_id": ["a"], "v": [1], "w": [1]})}, DataError, "found unique_id, v, w"),
        ({"weight": pl.DataFrame({"name": ["a"], "w": [1]})}, DataError, "weight: column 'unique_id' missing"),
        ({"train": make_history().drop("y")}, DataError, "train: column 'y' missing"),
        ({"train": make_history().filter(pl.col("unique_id") == "a")}, DataError, "2 of 3 series have no history"),
        ({"train": make_history().with_columns(unique_id=1)}, DataError, "in the forecasts and Int32 in train"),
        ({"train": make_history().with_columns(ds=dt.date(2024, 1, 1))}, DataError, "the times of train are Date"),
        ({"train": pl.concat([make_history(), make_history().head(1)])}, DataError, "series 'a', 1 is not an integer"),
        ({"train": make_history(), "season_length": 0}, InputError, "season_length: 0 must be at least 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused_with_the_reason(
    settings: dict[str, Any], kind: type[Exception], message: str
) -> None:
    frame = make_forecasts("good").with_columns(pl.col("good") - 100)
    with pytest.raises(kind, match=message):
        score(frame, **settings)


def test_metrics_of_what_is_not_there_are_refused() -> None:
    frame = make_forecasts("good").select("unique_id", "ds", "actual", "good")
    with pytest.raises(InputError, match=r"'crps' needs quantiles: columns such as 'q-0\.1'"):
        score(frame, metrics="crps")
    with pytest.raises(InputError, match="'width' needs intervals: columns such as 'lo-80' and 'hi-80'; found none"):
        score(frame, metrics="width")
    with pytest.raises(DataError, match="no column of forecasts"):
        score(frame.drop("good"))
    with pytest.raises(DataError, match=r"column 'good-q-1.5': 1.5 must lie between 0 and 1"):
        score(frame.with_columns(pl.lit(1.0).alias("good-q-1.5")))
