"""Evaluation: every forecast judged on the same values, and labels that say what they are worth."""

import json

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.evaluate import Evaluation, evaluate, score_windows
from neuro_divergent.forecasting.predictor import WindowForecasts
from tests.unit.evaluation.test_baselines import panel_of

HORIZON, HISTORY = 4, 12


def scored(point: np.ndarray, actual: np.ndarray, observed: np.ndarray | None = None) -> Evaluation:
    """Score two windows, one in each of two series of twelve rows."""
    panel = panel_of([1, 2, 4, 7, 11, 16, 22, 29, *actual[0]], [5.0] * 8 + actual[1].tolist())
    result = WindowForecasts(
        series=np.array([0, 1]),
        rows=np.array([8, 20]),
        point=point,
        actual=actual,
        observed=np.ones_like(actual, bool) if observed is None else observed,
        lower={80.0: point - 1},
        upper={80.0: point + 1},
    )
    return score_windows(result, panel, model="mine", part="test", note="", season_length=2)


ACTUAL = np.array([[30.0, 31.0, 32.0, 33.0], [5.0, 6.0, 5.0, 6.0]])


def test_a_perfect_forecast_has_no_error() -> None:
    evaluation = scored(ACTUAL.copy(), ACTUAL)
    row = evaluation.table.row(0, named=True)
    assert row == pytest.approx({**dict.fromkeys(row, 0.0), "model": "mine", "skill": 1.0})
    assert evaluation.coverage.to_dicts() == [{"level": 80.0, "coverage": 100.0, "width": 2.0}]
    assert evaluation.table["model"].to_list() == ["mine", "last value", "seasonal naive", "drift"]


def test_scores_worked_out_by_hand() -> None:
    table = scored(ACTUAL + 2.0, ACTUAL).table
    naive = np.abs(np.array([[22, 29, 22, 29], [5, 5, 5, 5]]) - ACTUAL).mean()
    assert table["mae"].to_list()[:3] == pytest.approx([2.0, np.abs([[1, 2, 3, 4], [0, 1, 0, 1]]).mean(), naive])
    assert table["bias"][0] == pytest.approx(2.0)
    assert table["skill"].to_list()[:3:2] == pytest.approx([1 - 2 / naive, 0.0])
    # Two rows apart: 3, 5, 7, 9, 11, 13 in the first series; the second never moved, so it has no scale.
    assert table["mase"][0] == pytest.approx(2 / 8)


def test_per_series_scores_equal_scores_of_single_series() -> None:
    table = scored(ACTUAL + np.array([[1.0], [-3.0]]), ACTUAL).per_series
    assert table["mae"].to_list() == pytest.approx([1.0, 3.0])
    assert table["rmse"].to_list() == pytest.approx([1.0, 3.0])
    assert table["bias"].to_list() == pytest.approx([1.0, -3.0])
    assert table["mase"][0] == pytest.approx(1 / 8)
    assert np.isnan(table["mase"][1])
    assert table["values"].to_list() == [4, 4]


def test_unobserved_values_are_left_out() -> None:
    observed = np.array([[True, True, True, False], [False] * 4])
    evaluation = scored(np.where(observed, ACTUAL, 1e9), ACTUAL, observed)
    assert evaluation.table["mae"][0] == 0.0
    assert evaluation.per_series["unique_id"].to_list() == ["s0"]
    assert evaluation.forecasts["actual"].null_count() == 5


def test_forecasts_carry_their_times() -> None:
    forecasts = scored(ACTUAL, ACTUAL).forecasts
    assert forecasts["ds"].to_list() == [8, 9, 10, 11] * 2
    assert forecasts["cutoff"].to_list() == [7] * 8
    assert forecasts["step"].to_list() == [1, 2, 3, 4] * 2
    assert forecasts["lo-80"].to_list() == (ACTUAL.reshape(-1) - 1).tolist()


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return Synthetic(num_series=3, length=90, seasonalities=(7,)).frame()


@pytest.fixture(scope="module")
def forecaster(table: pl.DataFrame) -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=20, threads=1)
    return nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, test=8, training=training).fit(table)


def test_the_test_part_comes_first(forecaster: nd.Forecaster, table: pl.DataFrame) -> None:
    evaluation = evaluate(forecaster)
    assert evaluation.part == "test"
    assert "none of these values were used in training" in evaluation.note
    assert evaluation.windows == 3 * 2
    assert evaluation.season_length == 7
    # The seasonal naive forecast, from the table itself.
    values = table["y"].to_numpy().astype(np.float32).reshape(3, 90)
    errors = [np.abs(values[:, 82 + k : 86 + k] - values[:, 75 + k : 79 + k]) for k in (0, 4)]
    naive = evaluation.table.filter(pl.col("model") == "seasonal naive")["mae"][0]
    assert naive == pytest.approx(np.mean(errors), rel=1e-5)


def test_scores_match_the_forecasts(forecaster: nd.Forecaster) -> None:
    evaluation = evaluate(forecaster, levels=(80,))
    long = evaluation.forecasts
    assert evaluation.table["mae"][0] == pytest.approx((long["forecast"] - long["actual"]).abs().mean(), rel=1e-5)
    inside = ((long["actual"] >= long["lo-80"]) & (long["actual"] <= long["hi-80"])).mean()
    assert evaluation.coverage["coverage"][0] == pytest.approx(100 * inside)


def test_validation_says_what_it_was_used_for(forecaster: nd.Forecaster) -> None:
    evaluation = evaluate(forecaster, part="validation")
    assert "used for early stopping" in evaluation.note
    assert "by construction" in evaluation.note


def test_new_data_and_old_data_are_told_apart(forecaster: nd.Forecaster, table: pl.DataFrame) -> None:
    assert "3 of 3 series" in evaluate(forecaster, table, last=8).note
    later = table.with_columns(pl.col("ds") + pl.duration(days=400))
    assert "after the data of training" in evaluate(forecaster, later, last=8).note


def test_the_same_rows_score_the_same_as_new_data(forecaster: nd.Forecaster, table: pl.DataFrame) -> None:
    assert evaluate(forecaster, table, last=8).table["mae"][0] == pytest.approx(evaluate(forecaster).table["mae"][0])


def test_a_window_is_enough_of_new_data(forecaster: nd.Forecaster, table: pl.DataFrame) -> None:
    short = table.group_by("unique_id", maintain_order=True).tail(HISTORY + HORIZON)
    assert evaluate(forecaster, short).windows == 3


def test_a_loaded_forecaster_needs_data(forecaster: nd.Forecaster, table: pl.DataFrame, tmp_path: object) -> None:
    path = f"{tmp_path}/model"
    forecaster.save(path)
    loaded = nd.Forecaster.load(path)
    with pytest.raises(InputError, match="pass data"):
        evaluate(loaded)
    assert evaluate(loaded, table, last=8).table["mae"][0] == pytest.approx(evaluate(forecaster).table["mae"][0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"part": "train"}, "must be 'test' or 'validation'"),
        ({"season_length": 0}, "season_length"),
        ({"levels": (101,)}, "level|quantile"),
    ],
)
def test_wrong_arguments(forecaster: nd.Forecaster, arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(forecaster, **arguments)


@pytest.mark.parametrize("last", [0, -3, 2.5])
def test_wrong_last_is_refused(forecaster: nd.Forecaster, table: pl.DataFrame, last: float) -> None:
    with pytest.raises(InputError, match="last"):
        evaluate(forecaster, table, last=last)


def test_a_missing_part_is_refused(table: pl.DataFrame) -> None:
    forecaster = nd.Forecaster(
        "nlinear", horizon=HORIZON, input_size=HISTORY, validation=0, training=nd.TrainingConfig(max_steps=1, threads=1)
    ).fit(table)
    with pytest.raises(InputError, match="nothing was held out"):
        evaluate(forecaster)


def test_to_dict_can_be_written_as_json(forecaster: nd.Forecaster) -> None:
    document = json.loads(json.dumps(evaluate(forecaster).to_dict(), allow_nan=False))
    assert document["scores"][0]["name"] == "nlinear"
