"""Forecasts of many series: histories are read block by block, and the numbers are those of all at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting import fitted as fitted_module
from neuro_divergent.forecasting import prediction_context
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.prediction_parts import forecast_parts

HORIZON, HISTORY, SERIES = 4, 12, 11
TRAINING = nd.TrainingConfig(max_steps=3, batch_size=32)
SCHEMA = {"static": "shop", "past": "price", "future": "holiday", "missing": "mask", "id": "unique_id"}


def table() -> pl.DataFrame:
    """Return series of several lengths with holes and covariates."""
    rng, frames = np.random.default_rng(5), []
    for place in range(SERIES):
        count = 40 + 5 * place
        y = pl.Series("y", 3 * place + rng.normal(size=count)).set(pl.Series(rng.random(count) < 0.1), None)
        columns = {
            "unique_id": [f"s{place:02d}"] * count, "ds": np.arange(count), "y": y, "price": rng.normal(size=count),
            "holiday": rng.integers(0, 2, count), "shop": [f"shop {place % 3}"] * count,
        }  # fmt: skip
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames)


def ahead(steps: int = HORIZON) -> pl.DataFrame:
    """Return the covariates known ahead."""
    return pl.concat(
        pl.DataFrame(
            {
                "unique_id": [f"s{place:02d}"] * steps,
                "ds": 40 + 5 * place + np.arange(steps),
                "holiday": (place + np.arange(steps)) % 2,
            }
        )
        for place in range(SERIES)
    )


@pytest.fixture(scope="module")
def model() -> nd.Forecaster:
    made = nd.Forecaster("mlp", horizon=HORIZON, input_size=HISTORY, series_scaler="standard", training=TRAINING)
    return made.fit(table(), **SCHEMA)


@pytest.fixture(scope="module")
def plain() -> nd.Forecaster:
    made = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, series_scaler="standard", training=TRAINING)
    return made.fit(table().select("unique_id", "ds", "y"), missing="mask")


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat eleven series as many: three at a time."""
    for module, name, value in (
        (prediction_context, "_PREPARED", 0), (prediction_context, "_ROWS", 3), (prediction_context, "_KEPT", 0),
        (fitted_module, "_MOST_COPIED", 0), (fitted_module, "_MANY", 1),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


def assert_close(one: Any, other: Any) -> None:
    """Compare tables; networks round differently on batches of another size."""
    assert one.columns == other.columns
    assert one.select("unique_id", "ds").equals(other.select("unique_id", "ds"))
    values = pl.exclude("unique_id", "ds")
    np.testing.assert_allclose(one.select(values).to_numpy(), other.select(values).to_numpy(), rtol=1e-5, atol=1e-6)


def test_predict_by_blocks_equals_predict_at_once(model: nd.Forecaster, request: pytest.FixtureRequest) -> None:
    arguments = {"future": ahead(), "levels": [80], "quantiles": [0.3]}
    expected = model.predict(**arguments)
    request.getfixturevalue("few_at_once")
    batches = PredictionContext.of(model.fitted, future=ahead()).batches
    assert [len(batch.past_y) for batch in batches] == [3, 3, 3, 2]
    assert_close(model.predict(**arguments), expected)


def test_predict_of_a_stored_panel_equals_predict_of_its_table(
    model: nd.Forecaster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    frame = table().filter(pl.col("unique_id") != "s04")
    build_panel(frame, Schema(**SCHEMA)).save(tmp_path / "panel")
    expected = model.predict(frame, future=ahead(), levels=[80])
    assert model.predict(tmp_path / "panel", future=ahead(), levels=[80]).equals(expected)
    assert model.predict(build_panel(frame, Schema(**SCHEMA)), future=ahead(), levels=[80]).equals(expected)
    request.getfixturevalue("few_at_once")
    assert_close(model.predict(str(tmp_path / "panel"), future=ahead(), levels=[80]), expected)


def test_steps_beyond_the_horizon_by_blocks_equal_those_at_once(
    plain: nd.Forecaster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    frame = table().select("unique_id", "ds", "y")
    build_panel(frame, Schema(missing="mask")).save(tmp_path / "panel")
    expected = plain.predict(frame, horizon=11)
    request.getfixturevalue("few_at_once")
    assert_close(plain.predict(tmp_path / "panel", horizon=11), expected)


def test_sample_paths_by_blocks_belong_to_their_series(plain: nd.Forecaster, request: pytest.FixtureRequest) -> None:
    expected = plain.simulate(50, seed=1).group_by("unique_id", maintain_order=True).agg(pl.col("value").mean())
    request.getfixturevalue("few_at_once")
    found = plain.simulate(50, seed=1).group_by("unique_id", maintain_order=True).agg(pl.col("value").mean())
    assert found["unique_id"].equals(expected["unique_id"])
    assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), abs=1.0)  # series are 3 apart


def test_parts_of_a_forecast_together_are_the_table_of_predict(plain: nd.Forecaster) -> None:
    parts = list(forecast_parts(plain.fitted, [80], rows=3 * HORIZON))
    assert [part.height for part in parts] == [12, 12, 12, 8]
    assert_close(pl.concat(parts), plain.predict(levels=[80]))


def test_places_of_series_by_a_join_equal_those_by_a_dictionary(
    plain: nd.Forecaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [pl.Series(["s03", "other", "s00", "s10", "s03"]), plain.fitted.context.ids, pl.Series([], dtype=pl.String)]
    expected = [plain.fitted._places_of(ids).tolist() for ids in names]
    assert expected[0] == [3, -1, 0, 10, 3]
    monkeypatch.setattr(fitted_module, "_MANY", 0)
    assert [plain.fitted._places_of(ids).tolist() for ids in names] == expected
    assert plain.fitted._places_of(pl.Series([3, 5])).tolist() == [-1, -1]


def test_panel_with_other_columns_is_refused(model: nd.Forecaster, plain: nd.Forecaster) -> None:
    panel = build_panel(table(), Schema(**{**SCHEMA, "past": ()}))
    with pytest.raises(DataError, match=r"has the past covariates none; the model was trained with price \(numbers\)"):
        model.predict(panel, future=ahead())
    slower = build_panel(table().select("unique_id", pl.col("ds") * 2, "y"), Schema(missing="mask"))
    with pytest.raises(DataError, match="rows are 2 apart; in training they were 1 apart"):
        plain.predict(slower)


def test_panel_with_covariates_that_a_model_does_not_have_is_used_without_them(plain: nd.Forecaster) -> None:
    assert plain.predict(build_panel(table(), Schema(**SCHEMA))).equals(plain.predict(table()))


def test_categories_of_a_panel_get_the_codes_of_training(model: nd.Forecaster, tmp_path: Path) -> None:
    some = table().filter(pl.col("shop") != "shop 0")
    panel = build_panel(some, Schema(**SCHEMA))
    assert panel.categories != model.fitted.context.categories
    expected = model.predict(some, future=ahead())
    assert model.predict(panel, future=ahead()).equals(expected)
    panel.save(tmp_path / "panel")
    assert model.predict(Panel.open(tmp_path / "panel"), future=ahead()).equals(expected)
    strange = build_panel(some.with_columns(pl.col("shop").str.replace("1", "9")), Schema(**SCHEMA))
    with pytest.raises(DataError, match="category 'shop 9' not in training data"):
        model.predict(strange, future=ahead())


def test_part_of_a_fitted_model_forecasts_its_series_alone(plain: nd.Forecaster) -> None:
    fitted = dataclasses.replace(plain.fitted)
    part = fitted.part(2, 5)
    assert part.context.ids.to_list() == ["s02", "s03", "s04"]
    whole = plain.predict()
    expected = whole.filter(pl.col("unique_id").is_in(part.context.ids.implode()))
    assert_close(PredictionContext.of(part).table(), expected)
