"""Backtests: many cut-offs in one pass, and labels that say what they are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation import metrics
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.cross_validation.backtest import backtest

HORIZON, HISTORY, LENGTH = 4, 12, 100
FRAME = Synthetic(num_series=3, length=LENGTH).frame()
PLACES = FRAME.with_columns(place=pl.int_range(pl.len()).over("unique_id"))


def until(rows: int) -> pl.DataFrame:
    return PLACES.filter(pl.col("place") < rows).drop("place")


@pytest.fixture(scope="module")
def fitted() -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=10, threads=1)
    forecaster = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, training=training)
    return forecaster.fit(until(80))


def test_each_cutoff_is_what_predicting_from_there_gives(fitted: nd.Forecaster) -> None:
    result = backtest(fitted, FRAME, cutoffs=3, step=5, levels=[80])
    assert result.windows == 9
    for back in range(3):
        rows = LENGTH - HORIZON - 5 * back
        alone = fitted.predict(until(rows), levels=[80])
        found = result.forecasts.join(alone.select("unique_id", "ds"), on=["unique_id", "ds"])
        found = found.filter(pl.col("cutoff") == PLACES.filter(pl.col("place") == rows - 1)["ds"][0])
        assert found.height == 3 * HORIZON
        for name in ("forecast", "lo-80", "hi-80"):
            assert found[name].to_numpy() == pytest.approx(alone[name].to_numpy(), rel=1e-5)


def test_scores_are_those_of_the_table(fitted: nd.Forecaster) -> None:
    result = backtest(fitted, FRAME, cutoffs=4)
    frame = result.forecasts
    for name in ("forecast", *NAMES):
        row = result.scores.row(by_predicate=pl.col("model") == name, named=True)
        assert row["mae"] == pytest.approx(metrics.mae(frame["actual"].to_numpy(), frame[name].to_numpy()))
    assert result.per_cutoff.filter(pl.col("model") == "forecast")["mae"].mean() == pytest.approx(
        result.scores["mae"][0]
    )


def test_default_cutoffs_are_ten_and_one_horizon_apart(fitted: nd.Forecaster) -> None:
    result = backtest(fitted, FRAME)
    assert result.forecasts.group_by("unique_id").len()["len"].to_list() == [10 * HORIZON] * 3
    assert result.forecasts.select("unique_id", "ds").is_unique().all()


@pytest.mark.parametrize(("last", "windows"), [(12, 3), (0.2, 5), (14, 3), (1, 1)])
def test_last_selects_the_end_of_each_series(fitted: nd.Forecaster, last: float, windows: int) -> None:
    assert backtest(fitted, FRAME, last=last, baselines=False).windows == 3 * windows


def test_note_counts_values_used_in_training(fitted: nd.Forecaster) -> None:
    assert "come after the data of training" in backtest(fitted, FRAME, last=20).note
    assert backtest(fitted, FRAME, last=24).note.startswith("12 of 72 values lie within the data of training")
    # 80 rows, of which the last 16 are the validation part.
    assert backtest(fitted, last=20).note.startswith("12 of 60 values lie within the training part")
    assert backtest(fitted, last=16).note.startswith("48 of 48 values lie within the validation part")


def test_note_on_the_test_part_says_it_was_not_used() -> None:
    training = nd.TrainingConfig(max_steps=2, threads=1)
    forecaster = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, test=8, training=training).fit(FRAME)
    assert backtest(forecaster, cutoffs=2).note == "None of these values were used in training."


def test_joint_models_are_backtested() -> None:
    training = nd.TrainingConfig(max_steps=2, threads=1)
    forecaster = nd.Forecaster("tsmixer", horizon=HORIZON, input_size=HISTORY, training=training).fit(until(80))
    result = backtest(forecaster, FRAME, cutoffs=2)
    joined = result.forecasts.join(FRAME, on=["unique_id", "ds"])
    assert joined.height == 2 * 3 * HORIZON
    assert joined["actual"].to_numpy() == pytest.approx(joined["y"].to_numpy(), rel=1e-6)


def test_pandas_input_gives_pandas_tables(fitted: nd.Forecaster) -> None:
    pandas = pytest.importorskip("pandas")
    result = backtest(fitted, FRAME.to_pandas(), cutoffs=2)
    assert isinstance(result.forecasts, pandas.DataFrame)
    assert isinstance(result.scores, pandas.DataFrame)
    same = backtest(fitted, FRAME, cutoffs=2)
    assert np.allclose(result.scores["mae"].to_numpy(), same.scores["mae"].to_numpy())


def test_wrong_arguments_are_named(fitted: nd.Forecaster, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"cutoffs": 0}, "cutoffs: 0"),
        ({"step": -1}, "step: -1"),
        ({"last": 1.5}, r"last: 1\.5"),
        ({"last": 0}, "last: 0"),
        ({"last": 8, "cutoffs": 2}, "give one of them"),
    ]
    for arguments, message in wrong:
        with pytest.raises(InputError, match=message):
            backtest(fitted, FRAME, **arguments)
    fitted.save(tmp_path / "model")
    with pytest.raises(InputError, match="does not hold the data"):
        backtest(nd.Forecaster.load(tmp_path / "model"))
    assert backtest(nd.Forecaster.load(tmp_path / "model"), FRAME, cutoffs=1).windows == 3
