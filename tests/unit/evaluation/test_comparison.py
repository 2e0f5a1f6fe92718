"""Comparison of models: scores by hand, and tests that are those of the matrices they are made from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.comparison.comparison import compare
from neuro_divergent.evaluation.comparison.significance import critical_difference, diebold_mariano, friedman, nemenyi
from neuro_divergent.evaluation.cross_validation.cross_validation import cross_validate
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit


@dataclass(frozen=True)
class Table:
    """A table of forecasts of ``(series, cut-offs, steps)`` and its errors by model."""

    frame: pl.DataFrame
    errors: dict[str, np.ndarray]


def table(series: int = 4, cutoffs: int = 12, steps: int = 3, apart: int = 3, seed: int = 0) -> Table:
    random = np.random.default_rng(seed)
    shape = (series, cutoffs, steps)
    place = np.indices(shape).reshape(3, -1)
    cutoff = 100 + apart * place[1]
    actual = random.normal(0, 5, shape)
    spreads = {"good": 1.0, "same": 1.0, "bad": 2.0}
    errors = {name: random.normal(0, spread, shape) for name, spread in spreads.items()}
    frame = pl.DataFrame(
        {
            "unique_id": [f"s{number:02d}" for number in place[0]],
            "ds": cutoff + place[2] + 1,
            "cutoff": cutoff,
            "step": place[2] + 1,
            "actual": actual.reshape(-1),
            **{name: (actual + error).reshape(-1) for name, error in errors.items()},
        }
    )
    return Table(frame.sample(fraction=1.0, shuffle=True, seed=1), errors)


def row(frame: pl.DataFrame, **where: str) -> dict[str, Any]:
    return frame.filter(**where).row(0, named=True)


def test_scores_skill_and_order() -> None:
    made = table()
    result = compare(made.frame, reference="bad")
    scores = {name: np.abs(error).mean() for name, error in made.errors.items()}
    assert result.table["model"].to_list() == sorted(scores, key=lambda name: scores[name])
    for name, error in made.errors.items():
        found = row(result.table, model=name)
        assert found["score"] == pytest.approx(scores[name])
        assert found["skill"] == pytest.approx(1 - scores[name] / scores["bad"])
        assert found["std"] == pytest.approx(np.abs(error).mean((0, 2)).std(ddof=1))
    assert row(result.table, model="bad")["p_value"] is None
    assert row(result.table, model="bad")["significant"] is None
    assert (result.series, result.cutoffs, result.overlap) == (4, 12, 1)


def test_pairs_are_tested_on_the_mean_over_series_at_each_cutoff() -> None:
    made = table()
    result = compare(made.frame)
    good, bad = (np.abs(made.errors[name]).mean((0, 2)) for name in ("good", "bad"))
    found = row(result.pairs, model="good", other="bad")
    expected = stats.ttest_1samp(good - bad, 0)
    assert (found["statistic"], found["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert found["difference"] == pytest.approx((good - bad).mean())
    assert found["p_holm"] >= found["p_value"]
    assert found["p_value"] < 0.01
    assert row(result.pairs, model="good", other="same")["p_value"] > 0.01


def test_overlapping_horizons_are_detected() -> None:
    made = table(cutoffs=40, steps=6, apart=2)
    result = compare(made.frame)
    assert result.overlap == 3
    good, bad = (np.abs(made.errors[name]).mean((0, 2)) for name in ("good", "bad"))
    expected = diebold_mariano(good - bad, 3)
    assert row(result.pairs, model="good", other="bad")["p_value"] == pytest.approx(expected.p_value)


@pytest.mark.parametrize(("apart", "overlap"), [(1, 4), (2, 2), (3, 2), (4, 1), (9, 1)])
def test_overlap_by_the_distance_of_cutoffs(apart: int, overlap: int) -> None:
    assert compare(table(steps=4, apart=apart).frame).overlap == overlap


def test_ranks_are_means_over_series() -> None:
    made = table(series=20)
    result = compare(made.frame, reference="same")
    by_series = np.stack([np.abs(made.errors[name]).mean((1, 2)) for name in ("good", "same", "bad")], axis=1)
    expected = friedman(by_series)
    assert result.test == "nemenyi"
    assert result.friedman.chi_square == pytest.approx(expected.chi_square)
    assert result.critical_difference == pytest.approx(critical_difference(3, 20))
    p_values = nemenyi(expected.ranks, 20)
    assert row(result.table, model="bad")["p_value"] == pytest.approx(p_values[1, 2])
    assert row(result.table, model="bad")["rank"] == pytest.approx(expected.ranks[2])
    assert row(result.table, model="bad")["significant"]
    assert not row(result.table, model="good")["significant"]
    assert row(result.pairs, model="good", other="bad")["p_nemenyi"] == pytest.approx(p_values[0, 2])


def test_few_series_are_compared_over_cutoffs() -> None:
    result = compare(table().frame, reference="good")
    assert result.test == "diebold_mariano"
    p_values = [row(result.pairs, model="good", other=name)["p_value"] for name in ("same", "bad")]
    smaller = min(p_values)  # Holm doubles the smaller of two
    assert row(result.table, model="bad")["p_value"] == pytest.approx(2 * smaller)


def test_series_that_end_at_other_times_are_counted_from_their_ends() -> None:
    made = table()
    later = made.frame.with_columns(
        pl.when(pl.col("unique_id") == "s01").then(pl.col(name) + 1000).otherwise(name).alias(name)
        for name in ("ds", "cutoff")
    )
    assert compare(later).pairs.equals(compare(made.frame).pairs)


def test_the_best_is_the_reference_where_there_is_no_naive_forecast() -> None:
    result = compare(table().frame)
    assert result.reference == result.table["model"][0]


def test_unobserved_values_are_left_out() -> None:
    made = table()
    hidden = made.frame.with_columns(actual=pl.when(pl.col("step") == 2).then(None).otherwise("actual"))
    found = row(compare(hidden).table, model="good")["score"]
    assert found == pytest.approx(np.abs(made.errors["good"][:, :, [0, 2]]).mean())


def test_a_cross_validation_is_compared_with_the_naive_forecasts() -> None:
    training = nd.TrainingConfig(max_steps=5, threads=1)
    models = [nd.Forecaster(name, horizon=4, input_size=12, training=training) for name in ("nlinear", "dlinear")]
    frame = Synthetic(num_series=3, length=90).frame().rename({"y": "sales", "ds": "day", "unique_id": "shop"})
    split = TimeSeriesSplit(n_splits=4, test_size=4)
    made = cross_validate(models, frame, split, refit=False, target="sales", time="day", id="shop")
    result = compare(made, "mase")
    assert result.reference == "seasonal naive"
    assert set(result.table["model"]) == {"nlinear", "dlinear", "last value", "seasonal naive", "drift"}
    naive = row(result.table, model="seasonal naive")
    assert naive["skill"] == 0
    per_fold = made.per_fold.filter(model="nlinear")["mase"]
    assert row(result.table, model="nlinear")["std"] == pytest.approx(per_fold.std())
    assert row(result.table, model="nlinear")["skill"] == pytest.approx(
        1 - row(result.table, model="nlinear")["score"] / naive["score"]
    )
    assert result.cutoffs == 4


def test_models_without_the_forecasts_that_are_scored_are_left_out() -> None:
    made = table().frame
    bands = made.with_columns(
        **{f"{name}-{end}-80": pl.col(name) + sign for name in ("good", "bad") for end, sign in (("lo", -2), ("hi", 2))}
    )
    result = compare(bands, "winkler-80")
    assert set(result.table["model"]) == {"good", "bad"}
    assert result.pairs.height == 1


def test_everything_can_be_written_as_json() -> None:
    result = compare(table(cutoffs=1).frame)  # one cut-off: nothing can be tested
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["metric"] == "mae"
    assert document["pairs"][0]["p_value"] is None
    assert len(document["models"]) == 3
    assert document["friedman"]["critical_difference"] == pytest.approx(result.critical_difference)


def test_pandas_input_gives_pandas_tables() -> None:
    pandas = pytest.importorskip("pandas")
    made = table().frame
    result = compare(made.to_pandas(), reference="bad")
    assert isinstance(result.table, pandas.DataFrame)
    assert np.allclose(result.table["score"], compare(made, reference="bad").table["score"])
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_wrong_arguments_are_named() -> None:
    made = table().frame
    for arguments, message in [
        ({"metric": "r2"}, "lower is not better"),
        ({"metric": "maee"}, "maee"),
        ({"reference": "goood"}, "Did you mean 'good'"),
        ({"test": "t"}, "test: 't'"),
        ({"alpha": 2}, "alpha"),
        ({"forecasts": made.drop("cutoff")}, "no column 'cutoff'"),
    ]:
        with pytest.raises(InputError, match=message):
            compare(**{"forecasts": made, **arguments})
