"""Learning curves: verdicts on curves of known shape, and a real one on a process that is known."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.learning_curve import judge_curve, learning_curve

SIZES = np.array([100.0, 200.0, 400.0, 700.0, 1000.0])


def curve(train: Any, validation: Any) -> pl.DataFrame:
    return pl.DataFrame(
        {"size": SIZES, "train_mean": np.broadcast_to(train, 5), "validation_mean": np.broadcast_to(validation, 5)}
    )


@pytest.mark.parametrize(
    ("train", "validation", "naive", "verdict"),
    [
        (0.5, SIZES**-0.3, 1.0, "data-limited"),
        (0.01, 2 * SIZES**-0.15, 0.1, "data-limited"),  # also where it is worse than naive: data come first
        (0.2, 0.8, 1.0, "overfitting"),
        (0.2, 0.8, 0.5, "overfitting"),
        (0.2, 0.8 * SIZES**0.05, 1.0, "overfitting"),
        (0.95, 1.0, 1.0, "underfitting"),
        (0.95, 1.0, 0.7, "underfitting"),
        (0.75, 0.8, 1.0, "well fitted"),
        (0.85, 0.8, 1.0, "well fitted"),
        (0.75, 0.8, None, "well fitted"),
        (0.75, 0.8 * SIZES**-0.05, 1.0, "well fitted"),
    ],
)
def test_a_curve_is_judged_by_its_slope_its_gap_and_the_naive_forecast(
    train: Any, validation: Any, naive: float | None, verdict: str
) -> None:
    found = judge_curve(curve(train, validation), naive)
    assert found.name == verdict
    assert found.reason.count("%") >= 2
    assert found.advice


def test_the_numbers_of_a_verdict_are_those_of_the_curve() -> None:
    found = judge_curve(curve(0.03, SIZES**-0.5), 0.1)
    assert found.slope == pytest.approx(-0.5)
    assert found.gap == pytest.approx(1 - 0.03 * np.sqrt(1000))
    assert found.skill == pytest.approx(1 - 10 / np.sqrt(1000))
    assert "save about 29% of the validation error" in found.reason


def test_a_perfect_model_is_well_fitted() -> None:
    assert judge_curve(curve(0.0, 0.0), 1.0).name == "well fitted"


def test_one_size_is_refused() -> None:
    with pytest.raises(InputError, match="two sizes"):
        judge_curve(curve(1.0, 1.0).head(1))


def autoregression(length: int, count: int = 1, seed: int = 0) -> pl.DataFrame:
    """Return series of which each value is a sum of the twelve before, and noise."""
    random = np.random.default_rng(seed)
    weights = np.array([0.5, -0.4, 0.3, -0.3, 0.2, -0.2, 0.2, -0.1, 0.1, -0.1, 0.1, 0.2])
    frames = []
    for number in range(count):
        values = list(random.normal(size=12))
        for _ in range(length):
            values.append(float(weights @ values[:-13:-1]) + random.normal())
        times = pl.date_range(
            date(2000, 1, 1), interval="1d", end=date(2000, 1, 1) + pd.Timedelta(days=length - 1), eager=True
        )
        frames.append(pl.DataFrame({"unique_id": [f"s{number}"] * length, "ds": times, "y": values[12:]}))
    return pl.concat(frames)


def linear(**changes: Any) -> nd.Forecaster:
    settings = {"max_steps": 300, "threads": 1, "optimizer": nd.AdamW(lr=1e-2), "early_stopping": None, **changes}
    training = nd.TrainingConfig(**settings)
    return nd.Forecaster("nlinear", horizon=1, input_size=12, validation=0, scaler="identity", training=training)


def test_more_data_lower_the_error_on_a_noisy_linear_process() -> None:
    found = learning_curve(
        linear(max_steps=200), autoregression(1000), sizes=(0.05, 0.1, 0.3, 1.0), folds=2, season_length=1
    )
    table = found.table
    ends = [f"{part}_{end}" for part in ("train", "validation") for end in ("mean", "low", "high")]
    assert table.columns == ["size", *ends, "folds"]
    assert table["size"].to_list() == [35, 70, 210, 700]
    assert table["folds"].to_list() == [2] * 4
    validation, train = table["validation_mean"].to_list(), table["train_mean"].to_list()
    assert validation[0] > 1.1 * validation[1] > 1.1 * validation[3]
    assert train[0] < 0.75 * train[-1]  # few values are overfitted, noise included
    assert abs(validation[-1] - train[-1]) < 0.15 * validation[-1]
    assert (table["validation_low"] <= table["validation_mean"]).all()
    assert (table["validation_mean"] <= table["validation_high"]).all()
    assert found.per_fold.height == 8
    assert found.naive > validation[-1]
    assert found.verdict == found.details.name == judge_curve(table, found.naive).name


def test_errors_are_those_of_forecasters_trained_by_hand() -> None:
    table = autoregression(120, count=2)
    found = learning_curve(linear(max_steps=20), table, sizes=(40, 1.0), folds=1, season_length=1)
    ends = table.group_by("unique_id", maintain_order=True)
    rows = 36  # three tenths of a series
    train = ends.head(120 - rows).group_by("unique_id", maintain_order=True).tail(40)
    forecaster = linear(max_steps=20).fit(train)
    panel = build_panel(table, Schema())
    windows = Windows(panel, 12, 1, panel.offsets[1:] - rows, panel.offsets[1:])
    result = forecaster.forecast_windows(windows)
    values = table["y"].to_numpy().astype(np.float32).reshape(2, 120)
    scale = np.abs(np.diff(values[:, : 120 - rows], axis=1)).mean(1)
    expected = (np.abs(result.point - result.actual)[:, 0] / scale[result.series]).mean()
    first = found.per_fold.row(0, named=True)
    assert first["size"] == 80
    assert first["validation"] == pytest.approx(expected, rel=1e-5)
    last = np.abs(values[:, 120 - rows :] - values[:, 120 - rows - 1 : -1]) / scale[:, None]
    assert found.naive == pytest.approx(last.mean(), rel=1e-5)


def test_the_same_seed_gives_the_same_curve_and_repeats_have_seeds_of_their_own() -> None:
    table, told = autoregression(150), []
    arguments: dict[str, Any] = {"sizes": (0.4, 1.0), "folds": 2, "repeats": 2, "max_steps": 10}
    first = learning_curve(linear(), table.to_pandas(), **arguments, progress=lambda *news: told.append(news))
    second = learning_curve(linear(), table, **arguments)
    assert isinstance(first.table, pd.DataFrame)
    assert pl.from_pandas(first.table).equals(second.table)
    by_repeat = second.per_fold.partition_by("repeat")
    assert not by_repeat[0]["validation"].equals(by_repeat[1]["validation"])
    assert [news[:2] for news in told] == [(done, 8) for done in range(1, 9)]


def test_two_processes_give_the_same_curve_as_one() -> None:
    arguments: dict[str, Any] = {"sizes": (0.4, 1.0), "folds": 2, "max_steps": 10}
    one, two = (learning_curve(linear(), autoregression(150), **arguments, jobs=jobs) for jobs in (1, 2))
    assert one.per_fold.equals(two.per_fold)
    assert one.table.equals(two.table)
    assert one.naive == two.naive


def test_validation_parts_do_not_depend_on_the_size_and_are_not_learned_from() -> None:
    table = autoregression(150)
    changed = table.with_columns(y=pl.when(pl.int_range(pl.len()) >= 106).then(1e6).otherwise("y"))
    arguments: dict[str, Any] = {"sizes": (0.5, 1.0), "folds": 1, "max_steps": 10}
    one, two = (learning_curve(linear(), data, **arguments) for data in (table, changed))
    assert one.per_fold["train"].equals(two.per_fold["train"])
    assert not one.per_fold["validation"].equals(two.per_fold["validation"])


def test_unset_input_size_is_the_same_for_all_sizes_and_small_sizes_are_left_out() -> None:
    training = nd.TrainingConfig(max_steps=2, threads=1)
    forecaster = nd.Forecaster("nlinear", horizon=4, training=training)
    found = learning_curve(forecaster, autoregression(200, count=2), folds=2)
    # Each of two series has 200 rows without two folds of 28; a tenth of that is less than three horizons and one more.
    assert found.table["size"].to_list() == [58, 116, 202, 288]
    assert found.notes == ("Sizes that have no room for a window of 16 rows were left out: 0.1.",)
    assert forecaster.task.input_size is None


@pytest.mark.parametrize("architecture", ["tsmixer", "mlp"])
def test_series_of_different_length_and_joint_models_work(architecture: str) -> None:
    table = autoregression(120, count=3)
    if architecture == "mlp":
        table = pl.concat(
            [table.filter(unique_id="s0").tail(70), table.filter(unique_id="s1"), table.filter(unique_id="s2")]
        )
    training = nd.TrainingConfig(max_steps=2, threads=1)
    forecaster = nd.Forecaster(architecture, horizon=2, input_size=8, series_scaler="standard", training=training)
    found = learning_curve(forecaster, table, sizes=(0.3, 1.0), folds=2)
    assert found.table["validation_mean"].is_finite().all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": (0.5,)}, "at least two"),
        ({"sizes": (0.5, 1.5)}, "1.5"),
        ({"sizes": (0, 1.0)}, "fraction"),
        ({"sizes": (True, 0.5)}, "fraction"),
        ({"folds": 0}, "folds"),
        ({"repeats": 0}, "repeats"),
        ({"max_steps": 0}, "max_steps"),
        ({"jobs": 0}, "jobs"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        learning_curve(linear(), autoregression(60), **arguments)


def test_data_that_are_too_short_are_refused() -> None:
    with pytest.raises(DataError, match="too short for a learning curve"):
        learning_curve(linear(), autoregression(22), folds=2)


def test_another_object_than_a_forecaster_is_refused() -> None:
    with pytest.raises(InputError, match="is not a forecaster"):
        learning_curve("nlinear", autoregression(60))  # type: ignore[arg-type]
