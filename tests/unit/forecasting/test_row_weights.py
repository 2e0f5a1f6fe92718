"""Targets that count more than others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.load import read_in_parts
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import split_by_time
from neuro_divergent.forecasting.row_weights import row_weights


def table(length: int = 60) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.concat(
        pl.DataFrame(
            {
                "unique_id": name,
                "ds": range(length),
                "y": random.normal(size=length).cumsum(),
                "importance": random.integers(0, 4, length).astype(float),
            }
        )
        for name in ("a", "b")
    )


def training(**changes: Any) -> nd.TrainingConfig:
    return nd.TrainingConfig(**{"max_steps": 60, "threads": 1, **changes})


def test_a_batch_holds_the_weights_of_its_targets() -> None:
    panel = build_panel(table(), Schema(weight="importance"))
    batcher = WindowBatcher(panel, 6, 3, nd.scalers.StandardScaler(), weight=panel.weight)
    batch = batcher.windows(np.array([0, 1]), np.array([4, 70]))
    expected = table()["importance"].to_numpy()
    assert batch.weight is not None
    assert batch.weight[:, :, 0].tolist() == [expected[10:13].tolist(), expected[76:79].tolist()]
    joint = WindowBatcher(panel, 6, 3, nd.scalers.StandardScaler(), weight=panel.weight, joint=True)
    both = joint.windows(np.array([0]), np.array([4])).weight
    assert both is not None
    assert both[0].T.tolist() == [expected[10:13].tolist(), expected[70:73].tolist()]


def test_integer_weights_are_repetitions() -> None:
    """A weight of 2 is a series that is there twice; windows of a copied series count as often."""
    frame = table()
    once, twice = frame.filter(pl.col("unique_id") == "a"), frame.filter(pl.col("unique_id") == "b")
    copied = pl.concat([once, twice, twice.with_columns(unique_id=pl.lit("c"))])
    weighted = frame.with_columns(w=pl.when(pl.col("unique_id") == "b").then(2.0).otherwise(1.0))
    results = []
    for data, columns, windows in ((copied, {}, 3), (weighted, {"weight": "w"}, 2)):
        settings = training(batch_size=windows * 46, max_steps=30, shuffle=False, precision="float64")
        forecaster = nd.Forecaster("nlinear", horizon=3, input_size=12, validation=0, training=settings, loss="mse")
        fitted = forecaster.fit(data, **columns)
        results.append(fitted.predict(frame)["forecast"].to_numpy())
    assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_what_has_no_weight_teaches_nothing() -> None:
    frame = table().with_columns(w=pl.when(pl.col("ds") < 40).then(0.0).otherwise(1.0))
    spoilt = frame.with_columns(y=pl.when(pl.col("ds") < 25).then(pl.col("y") * 100).otherwise(pl.col("y")))
    forecasts = []
    for data in (frame, spoilt):
        forecaster = nd.Forecaster("nlinear", horizon=3, input_size=6, validation=6, training=training())
        forecasts.append(forecaster.fit(data, weight="w").predict()["forecast"].to_numpy())
    # The first target that counts is at row 40, and its history begins at row 34: earlier rows are never seen.
    assert np.array_equal(forecasts[0], forecasts[1])


def test_the_weight_column_is_not_needed_to_forecast(tmp_path: Path) -> None:
    forecaster = nd.Forecaster("nlinear", horizon=3, input_size=12, training=training())
    forecaster.fit(table(), weight="importance").save(tmp_path / "model")
    again = nd.Forecaster.load(tmp_path / "model")
    plain = table().drop("importance")
    assert again.predict(plain).equals(forecaster.predict())


@pytest.mark.parametrize(
    ("value", "message"), [(-1.0, "-1 is negative"), (None, "is missing"), (float("inf"), "infinite")]
)
def test_wrong_weights_are_named(value: float | None, message: str) -> None:
    frame = table().with_columns(w=pl.when(pl.col("ds") == 7).then(value).otherwise(1.0))
    with pytest.raises(nd.errors.DataError, match=f"column 'w', series 'a', row 8: {message}"):
        build_panel(frame, Schema(weight="w"))


def test_weights_of_zero_everywhere_are_refused() -> None:
    forecaster = nd.Forecaster("nlinear", horizon=3, input_size=12, training=training())
    with pytest.raises(nd.errors.DataError, match="every target to train on has weight 0"):
        forecaster.fit(table().with_columns(w=0.0), weight="w")


def test_rows_that_fill_gaps_count_nothing() -> None:
    panel = build_panel(table().filter(pl.col("ds") != 20), Schema(weight="importance", gaps="interpolate"))
    assert panel.weight is not None
    assert panel.weight[20] == 0
    assert len(panel.weight) == len(panel.y)


def test_weights_survive_files(tmp_path: Path) -> None:
    frame = table()
    frame.write_csv(tmp_path / "table.csv")
    frame.write_parquet(tmp_path / "table.parquet")
    schema = Schema(weight="importance")
    expected = build_panel(frame, schema)
    expected.save(tmp_path / "panel")
    found = [
        build_panel(str(tmp_path / "table.csv"), schema),
        next(iter(read_in_parts(str(tmp_path / "table.parquet"), schema))),
        nd.Panel.open(tmp_path / "panel"),
        nd.Panel.from_parquet(tmp_path / "table.parquet", tmp_path / "other", weight="importance"),
    ]
    for panel in found:
        assert np.array_equal(panel.weight, expected.weight)
    assert expected.to_frame()["importance"].to_list() == frame["importance"].to_list()


def test_a_weighting_and_a_column_multiply() -> None:
    panel = build_panel(table(), Schema(weight="importance"))
    train = split_by_time(panel, input_size=6, horizon=3).train
    weight = row_weights(panel, nd.losses.Recency(half_life=10), train)
    age = np.tile(np.arange(60)[::-1], 2)
    assert weight == pytest.approx(table()["importance"].to_numpy() * 0.5 ** (age / 10), rel=1e-6)


def test_recent_values_can_count_more() -> None:
    """A level that jumps: with a short half-life the forecast follows the new regime of differences."""
    length = 200
    slope = np.where(np.arange(length) < 150, 1.0, -1.0)
    frame = pl.DataFrame({"ds": range(length), "y": slope.cumsum()})
    last = {}
    for name, weighting in (("all", None), ("recent", nd.losses.Recency(half_life=5))):
        forecaster = nd.Forecaster(
            nd.NLinear(), horizon=4, input_size=1, validation=0, scaler="identity", weighting=weighting, loss="mse",
            training=training(max_steps=400, optimizer=nd.optimizers.Adam(lr=0.05)),
        )  # fmt: skip
        forecast = forecaster.fit(frame).predict()["forecast"].to_numpy()
        last[name] = float(forecast[0] - slope.sum())
    assert last["recent"] < -0.9
    assert last["all"] > 0


def test_a_function_of_time_and_value_makes_weights() -> None:
    panel = build_panel(table(), Schema())
    train = split_by_time(panel, input_size=6, horizon=3).train
    weight = row_weights(panel, nd.losses.WeightFunction(lambda time, value: (time % 2) * np.abs(value)), train)
    expected = (table()["ds"].to_numpy() % 2) * np.abs(panel.y)
    assert weight == pytest.approx(expected, rel=1e-6)


def test_weights_of_the_training_part_do_not_know_what_comes_after_it() -> None:
    panel, changed = build_panel(table(), Schema()), build_panel(table(), Schema())
    train = split_by_time(panel, input_size=6, horizon=3).train
    for begin, end in zip(train.ends, panel.offsets[1:], strict=True):
        changed.y[begin:end] *= 1000
    weights = [row_weights(item, nd.losses.Magnitude(), train) for item in (panel, changed)]
    for begin, end in zip(panel.offsets[:-1], train.ends, strict=True):
        assert np.array_equal(weights[0][begin:end], weights[1][begin:end])
    assert not np.array_equal(weights[0], weights[1])


def test_percentage_losses_are_measured_in_the_units_of_the_data() -> None:
    frame = table().with_columns(y=pl.col("y") + 1000)
    forecaster = nd.Forecaster(
        "nlinear", horizon=3, input_size=12, loss="mape", series_scaler="log", training=training(metrics=("smape",))
    )
    forecaster.fit(frame)
    row = forecaster.history.drop_nulls("validation_loss").tail(1)
    assert row["validation_loss"].item() == pytest.approx(row["validation_mae"].item() / 1000, rel=0.05)
    assert row["validation_smape"].item() == pytest.approx(row["validation_loss"].item(), rel=0.05)


def test_classes_refuse_to_be_scaled() -> None:
    with pytest.raises(nd.errors.ConfigError, match="needs the target as it is"):
        nd.Task(horizon=3, loss="binary_cross_entropy")
    random = torch.Generator().manual_seed(0)
    y = (torch.arange(80) % 4 == 0).float() + 0 * torch.rand(80, generator=random)
    frame = pl.DataFrame({"ds": range(80), "y": y.tolist()})
    forecaster = nd.Forecaster(
        "mlp", horizon=4, input_size=8, loss="binary_cross_entropy", scaler="identity",
        training=training(max_steps=200, metrics="accuracy"),
    )  # fmt: skip
    forecast = forecaster.fit(frame).predict()["forecast"].to_numpy()
    assert forecast == pytest.approx([1, 0, 0, 0], abs=0.2)
    assert forecaster.history["validation_accuracy"].drop_nulls()[-1] == 1.0
