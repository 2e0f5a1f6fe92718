"""Comparing models from the command line: on a file, as they were trained, and on public data sets."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.leaderboard.preset import PRESETS
from tests.integration.test_command_line import COLUMNS, nd, refused, sales

pytestmark = pytest.mark.long  # each test trains in a process of its own

__all__ = ["sales"]  # the fixture

FAST = ("--max-steps", "20")


def test_models_are_cross_validated_beside_the_baselines(sales: Path) -> None:
    command = ("compare", "sales.csv", "nlinear", "dlinear", *COLUMNS, "--horizon", "7", "--input-size", "14")
    printed, _ = nd(*command, "--splits", "3", *FAST, "--output", "out", "--store", "folds", cwd=sales)
    assert "seasonal naive" in printed
    assert "nlinear" in printed
    out = sales / "out"
    assert {path.name for path in out.iterdir()} == {
        "forecasts.parquet", "scores.parquet", "comparison.json", "comparison.html",
    }  # fmt: skip
    forecasts = pl.read_parquet(out / "forecasts.parquet")
    assert forecasts["fold"].n_unique() == 3
    document = json.loads((out / "comparison.json").read_text())
    assert {row["model"] for row in document["models"]} == {
        "nlinear", "dlinear", "last value", "seasonal naive", "drift",
    }  # fmt: skip
    best = min(document["models"], key=lambda row: row["score"])
    assert document["models"][0] == best
    errors = (forecasts["actual"] - forecasts[best["model"]]).abs()
    assert best["score"] == pytest.approx(errors.mean(), rel=1e-6)
    page = (out / "comparison.html").read_text()
    assert "<td>nlinear</td>" in page
    assert "<script" not in page
    # Folds that were kept are not trained again, and what was written may be replaced.
    again, _ = nd(*command, "--splits", "3", *FAST, "--output", "out", "--store", "folds", "--json", cwd=sales)
    assert json.loads(again)["models"] == document["models"]


def test_trained_models_are_compared_as_they_are(sales: Path) -> None:
    for model in ("nlinear", "dlinear"):
        nd(
            "train",
            "sales.csv",
            *COLUMNS,
            "--horizon",
            "7",
            "--model",
            model,
            *FAST,
            "--output",
            model,
            "-q",
            cwd=sales,
        )
    printed, _ = nd("compare", "sales.csv", "nlinear", "dlinear", "--last", "21", "--json", cwd=sales)
    document = json.loads(printed)
    assert document["cutoffs"] == 3
    assert {"nlinear", "dlinear", "drift"} <= {row["model"] for row in document["models"]}


def test_what_cannot_be_compared_is_said_in_a_line(sales: Path) -> None:
    assert "Did you mean 'nlinear'" in refused("compare", "sales.csv", "nlinaer", *COLUMNS, "--horizon", "7", cwd=sales)
    assert "--horizon" in refused("compare", "sales.csv", "nlinear", *COLUMNS, cwd=sales)
    assert "--refit" in refused("compare", "sales.csv", "nlinear", "--horizon", "7", "--refit", "often", cwd=sales)
    (sales / "taken").mkdir()
    (sales / "taken" / "thesis.txt").write_text("all of it")
    wrong = refused("compare", "sales.csv", "nlinear", "--horizon", "7", "--output", "taken", cwd=sales)
    assert "name a new directory" in wrong
    assert "name only one kind" in refused("compare", "sales.csv", "nlinear", "taken", "--horizon", "7", cwd=sales)


class TestBenchmark:
    def test_the_data_sets_are_listed(self, tmp_path: Path) -> None:
        printed, _ = nd("benchmark", cwd=tmp_path)
        assert all(name in printed for name in PRESETS)
        assert "Did you mean 'm4-hourly'" in refused("benchmark", "m4-hurly", cwd=tmp_path)
        assert "m4_hourly_train.parquet" in refused("benchmark", "m4-hourly", cwd=tmp_path)
        assert "has no vix_ohlc.parquet" in refused("benchmark", "vix", "--data", ".", cwd=tmp_path)

    def test_training_and_test_files_are_joined_and_scored_as_in_the_competition(self, tmp_path: Path) -> None:
        whole = Synthetic(num_series=12, length=150, frequency=1, seasonalities=(12,)).frame()
        whole = whole.with_columns(pl.col("ds") + 1)
        train, test = whole.filter(pl.col("ds") <= 132), whole.filter(pl.col("ds") > 132)
        train.write_parquet(tmp_path / "m4_monthly_sub300_train.parquet")
        test = test.with_columns(pl.col("ds") - 132)
        test.write_parquet(tmp_path / "m4_monthly_sub300_test.parquet")
        test.with_columns(pl.lit(100.0).alias("y")).write_parquet(tmp_path / "m4_naive2.parquet")
        command = ("benchmark", "m4-monthly", "--data", ".", "--models", "nlinear", *FAST, "--json")
        document = json.loads(nd(*command, cwd=tmp_path)[0])
        scores = {row["model"]: row for row in document["scores"]}
        assert scores["naive2"]["owa"] == pytest.approx(1)
        assert scores["naive2"]["mae"] == pytest.approx(np.abs(test["y"].to_numpy() - 100).mean(), rel=1e-5)
        assert scores["nlinear"]["values"] == 12 * 18
        assert scores["nlinear"]["seconds"] > 0

    def test_models_that_cannot_use_what_is_known_ahead_go_without(self, tmp_path: Path) -> None:
        made = Synthetic(length=400, seasonalities=(7,)).frame()
        more = {name: np.random.default_rng(0).random(400) for name in PRESETS["bike-sharing"].future}
        made.with_columns(pl.Series(name, values) for name, values in more.items()).write_parquet(
            tmp_path / "bike_sharing_daily.parquet"
        )
        command = ("benchmark", "bike-sharing", "--data", ".", "--models", "nlinear,mlp", *FAST, "--json")
        document = json.loads(nd(*command, cwd=tmp_path)[0])
        assert {"nlinear", "mlp"} <= {row["model"] for row in document["models"]}
        assert all(row["values"] == 112 for row in document["scores"])


def test_an_evaluation_says_what_is_more_than_luck_and_writes_it_down(sales: Path) -> None:
    nd(
        "train",
        "sales.csv",
        *COLUMNS,
        "--horizon",
        "7",
        "--model",
        "nlinear",
        *FAST,
        "--output",
        "run",
        "-q",
        cwd=sales,
    )
    printed, _ = nd("evaluate", "run", "sales.csv", "--last", "28", "--output", "out", "--json", cwd=sales)
    document = json.loads(printed)
    scores = {row["name"]: row["mae"] for row in document["scores"]}
    compared = {row["model"]: row for row in document["comparison"]["models"]}
    assert {name: row["score"] for name, row in compared.items()} == pytest.approx(scores)
    assert compared["nlinear"]["p_value"] is not None
    assert (sales / "out" / "comparison.html").is_file()
