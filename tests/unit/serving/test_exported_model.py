"""Answers of an exported model, compared with ``predict``."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent import MLP, Conformal, Ensemble, Forecaster, TrainingConfig
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.serving.exported_model import ExportedModel
from tests.unit.serving.small_models import HORIZON, INPUT_SIZE, exported, fit, series_table, to_series

COVARIATES: dict[str, Any] = {
    "past": ("price", "weather"),
    "future": ("promo", "event"),
    "static": ("region", "size"),
    "calendar": ("hour_sin", "day_of_week", "is_weekend"),
}


def answers(model: ExportedModel, request: dict[str, Any]) -> pl.DataFrame:
    """Return the JSON answer to a request as the table that ``predict`` returns, times as text."""
    document = json.loads(model.answer(json.dumps(request).encode()))
    description = model.description
    frames = []
    for item in document["series"]:
        name = item.pop("id", None)
        frame = pl.DataFrame(item)
        if description.id is not None:
            frame.insert_column(0, pl.Series(description.id, [name] * frame.height))
        frames.append(frame)
    return pl.concat(frames)


def assert_equal(found: pl.DataFrame, expected: pl.DataFrame, *, spread: float = 1.0) -> None:
    """Compare an answer with the table of ``predict``: names and times exactly, forecasts but for rounding."""
    assert found.columns == expected.columns
    for name in expected.columns:
        if expected[name].dtype.is_float():
            np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), rtol=0, atol=1e-4 * spread)
        elif expected[name].dtype.is_temporal():
            assert found[name].to_list() == [time.isoformat() for time in expected[name].to_list()]
        else:
            assert found[name].to_list() == expected[name].to_list()


@pytest.fixture(scope="module")
def plain() -> Forecaster:
    """A model without covariates."""
    return fit("nlinear", series_table().select("unique_id", "ds", "y"))


@pytest.fixture(scope="module")
def full() -> Forecaster:
    """A model with covariates of every kind, for which unknown categories and missing values are allowed."""
    return fit(MLP(hidden_size=8), series_table(), **COVARIATES, missing="interpolate", unknown_category="unknown")


def new_table(**options: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return new series, and the covariates of the steps after them."""
    table = series_table(rows=60, start=dt.datetime(2024, 5, 1), seed=1, **options)
    ends = table.group_by("unique_id", maintain_order=True).agg(pl.len())["len"][0] - HORIZON
    parts = [(rows.head(ends), rows.tail(HORIZON)) for _, rows in table.group_by("unique_id", maintain_order=True)]
    return pl.concat([before for before, _ in parts]), pl.concat([after for _, after in parts])


def test_answer_for_several_series_equals_predict(plain: Forecaster) -> None:
    table, _ = new_table()
    model = exported(plain)
    found = answers(model, {"series": to_series(table, model), "levels": [80, 95], "quantiles": [0.1]})
    assert_equal(found, plain.predict(table, levels=[80, 95], quantiles=[0.1]))


@pytest.mark.parametrize("horizon", [1, 4, HORIZON])
def test_answer_with_all_kinds_of_covariates_equals_predict(full: Forecaster, horizon: int) -> None:
    table, future = new_table(ids=("A", "B", "Z"))
    model = exported(full)
    found = answers(model, {"series": to_series(table, model, future), "levels": [80], "horizon": horizon})
    assert_equal(found, full.predict(table, future=future, levels=[80], horizon=horizon))


def test_answer_with_unknown_categories_equals_predict(full: Forecaster) -> None:
    table, future = new_table()
    table = table.with_columns(
        region=pl.lit("moon"), weather=pl.when(pl.col("price") > 0).then(pl.lit("hail")).otherwise("weather")
    )
    model = exported(full)
    found = answers(model, {"series": to_series(table, model, future)})
    assert_equal(found, full.predict(table, future=future))


@pytest.mark.parametrize("policy", ["interpolate", "forward", "zero", "mask"])
def test_answer_with_missing_values_equals_predict_for_every_policy(policy: str) -> None:
    forecaster = fit(MLP(hidden_size=8), series_table(), **COVARIATES, missing=policy, unknown_category="unknown")
    table, future = new_table()
    random = np.random.default_rng(5)
    holes = {
        name: pl.when(pl.Series(random.random(table.height) < 0.3) & (pl.int_range(pl.len()) % 54 > 0)).then(None)
        for name in ("y", "price", "weather", "promo", "event")
    }
    table = table.with_columns(hole.otherwise(name).alias(name) for name, hole in holes.items())
    model = exported(forecaster)
    found = answers(model, {"series": to_series(table, model, future)})
    assert_equal(found, forecaster.predict(table, future=future))


@pytest.mark.parametrize("rows", [1, 5, INPUT_SIZE - 1, INPUT_SIZE, INPUT_SIZE + 1])
def test_answer_for_short_and_long_histories_equals_predict(full: Forecaster, rows: int) -> None:
    table, future = new_table()
    table = pl.concat([part.tail(rows) for _, part in table.group_by("unique_id", maintain_order=True)])
    model = exported(full)
    request = {"series": to_series(table, model, future)}
    assert_equal(answers(model, request), full.predict(table, future=future))
    notes = json.loads(model.answer(json.dumps(request).encode())).get("notes", [])
    assert len(notes) == (rows != INPUT_SIZE)
    if rows != INPUT_SIZE:
        assert "'A'" in notes[0]
        assert "3 series affected" in notes[0]


def test_answer_of_a_joint_model_equals_predict_in_any_order() -> None:
    forecaster = fit("tsmixer", series_table().select("unique_id", "ds", "y"))
    table, _ = new_table()
    model = exported(forecaster)
    series = to_series(table, model)
    assert model.description.joint
    found = answers(model, {"series": series[::-1], "levels": [80]}).sort("unique_id", "ds")
    assert_equal(found, forecaster.predict(table, levels=[80]))
    with pytest.raises(DataError, match="3 series at once, and the request has 2; 'A' is missing"):
        model.forecast(series[1:])
    series[0]["end"] = "2024-05-04T05:00:00"
    with pytest.raises(DataError, match="ends at another time"):
        model.forecast(series)


@pytest.mark.parametrize(
    ("every", "kind"), [("1d", "date"), ("1w", "date"), ("1mo", "date"), ("1q", "datetime"), ("15m", "datetime")]
)
def test_times_of_answers_equal_those_of_predict(every: str, kind: str) -> None:
    table = series_table(every=every).select("unique_id", "ds", "y")
    if kind == "date":
        table = table.with_columns(pl.col("ds").cast(pl.Date))
    forecaster = fit(MLP(hidden_size=8), table, calendar=("month", "week", "day_of_month_cos"))
    model = exported(forecaster)
    assert_equal(answers(model, {"series": to_series(table, model)}), forecaster.predict(table))


@pytest.mark.parametrize("every", ["1h", "1d"])
def test_times_in_a_zone_equal_those_of_predict_across_a_change_of_clocks(every: str) -> None:
    times = pl.datetime_range(dt.datetime(2024, 2, 1, 12), dt.datetime(2024, 3, 30, 22), every, eager=True)
    zoned = times.dt.replace_time_zone("Europe/Berlin")
    table = pl.DataFrame({"ds": zoned, "y": np.sin(np.arange(len(zoned)))})
    forecaster = fit(MLP(hidden_size=8), table, task={"input_size": 10}, calendar=("hour", "day_of_week"))
    model = exported(forecaster)
    assert_equal(answers(model, {"series": to_series(table, model)}), forecaster.predict(table))


def test_integer_times_and_one_series_without_id_equal_predict() -> None:
    table = pl.DataFrame({"ds": range(5, 205, 2), "y": np.sin(np.arange(100) / 5)})
    forecaster = fit("nlinear", table)
    model = exported(forecaster)
    assert_equal(answers(model, {"series": to_series(table, model)}), forecaster.predict(table))


def test_series_scaler_knows_series_of_training_and_refuses_others() -> None:
    forecaster = fit("nlinear", series_table().select("unique_id", "ds", "y"), task={"series_scaler": "standard"})
    table, _ = new_table()
    model = exported(forecaster)
    series = to_series(table, model)
    assert_equal(answers(model, {"series": series}), forecaster.predict(table))
    with pytest.raises(DataError, match="'Z' not in training"):
        model.forecast([{**series[0], "id": "Z"}])


def _few_steps(architecture: str, input_size: int) -> Forecaster:
    training = TrainingConfig(max_steps=2, batch_size=16)
    return Forecaster(architecture, horizon=HORIZON, input_size=input_size, training=training)


@pytest.mark.parametrize(
    "model",
    [
        Ensemble([_few_steps("nlinear", INPUT_SIZE), _few_steps("dlinear", INPUT_SIZE - 8)]),
        Conformal(_few_steps("nlinear", INPUT_SIZE)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_answer_of_a_model_of_another_kind_equals_predict(model: Ensemble | Conformal) -> None:
    model.fit(series_table(rows=200).select("unique_id", "ds", "y"))
    table, _ = new_table(ids=("A", "B", "Z"))
    graph = exported(model)
    found = answers(graph, {"series": to_series(table.select("unique_id", "ds", "y"), graph), "levels": [80]})
    assert_equal(found, model.predict(table.select("unique_id", "ds", "y"), levels=[80]))


def test_answer_without_end_has_steps_instead_of_times(plain: Forecaster) -> None:
    model = exported(plain)
    series = [{key: value for key, value in item.items() if key != "end"} for item in to_series(new_table()[0], model)]
    document = json.loads(model.answer(json.dumps({"series": series, "horizon": 3}).encode()))
    assert document["series"][0]["step"] == [1, 2, 3]
    assert "ds" not in document["series"][0]
    assert document["model_version"] == model.version


def test_forecast_takes_arrays_and_dates_and_returns_objects(plain: Forecaster) -> None:
    table, _ = new_table()
    model = exported(plain)
    rows = table.filter(pl.col("unique_id") == "A")
    (found,) = model.forecast([{"id": "A", "y": rows["y"].to_numpy(), "end": rows["ds"][-1]}], levels=[80])
    expected = plain.predict(rows, levels=[80])
    np.testing.assert_allclose(found.point, expected["forecast"].to_numpy(), atol=1e-5)
    np.testing.assert_allclose(found.values["lo-80"], expected["lo-80"].to_numpy(), atol=1e-5)
    assert found.times == [time.isoformat() for time in expected["ds"]]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no series": ({"series": []}, "no series"),
    "unknown key": ({"series": [{"y": [1.0], "values": [2]}]}, "values"),
    "text for a number": ({"series": [{"y": ["x"]}]}, r"\$\.series\[0\]\.y\[0\]"),
    "empty history": ({"series": [{"id": "A", "y": []}]}, "'A': y is empty"),
    "nothing observed": ({"series": [{"id": "A", "y": [None, None]}]}, "'A', y: no observed values"),
    "missing value": ({"series": [{"id": "A", "y": [1, None]}]}, "'A', y: 1 missing value, first at position 2"),
    "too large": ({"series": [{"id": "A", "y": [1, 2e17]}]}, "'A', y, position 2: 2e.17 exceeds"),
    "beyond float32": ({"series": [{"id": "A", "y": [1e300]}]}, "exceeds float32"),
    "level not exported": ({"series": [{"y": [1]}], "levels": [33]}, "level 33 is not in the exported model"),
    "level of 100": ({"series": [{"y": [1]}], "levels": [100]}, "between 0 and 100"),
    "long horizon": ({"series": [{"y": [1]}], "horizon": 7}, "1 to 6"),
    "no horizon": ({"series": [{"y": [1]}], "horizon": 0}, "1 to 6"),
    "unknown covariate": ({"series": [{"y": [1], "past": {"wind": [1]}}]}, "no covariate 'wind'"),
    "integer time": ({"series": [{"id": "A", "y": [1], "end": 5}]}, "'A', end: 5 is a number"),
    "no date": ({"series": [{"id": "A", "y": [1], "end": "yesterday"}]}, "'A', end: 'yesterday' is not a time"),
    "no such day": ({"series": [{"y": [1], "end": "2024-02-30T00:00"}]}, "number 1, end: '2024-02-30T00:00' is not"),
    "offset": ({"series": [{"y": [1], "end": "2024-02-03T00:00Z"}]}, "has an offset"),
    "year": ({"series": [{"y": [1], "end": "0999-02-03T00:00"}]}, "the years 1000 to 2999"),
    "long text": ({"series": [{"id": "A" * 5000, "y": [1], "end": "B" * 5000}]}, "A{30,40}"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_request_is_refused_with_its_place(plain: Forecaster, case: str) -> None:
    request, message = WRONG[case]
    with pytest.raises(InputError, match=message) as caught:
        exported(plain).answer(json.dumps(request).encode())
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b"null", b'{"series": 1}', b'{"series": [{"y": [1e999]}]}']
)
def test_body_that_is_no_request_is_refused(plain: Forecaster, body: bytes) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        exported(plain).answer(body)


def test_wrong_covariates_are_refused_with_their_place(full: Forecaster) -> None:
    table, future = new_table()
    model = exported(full)
    good = to_series(table, model, future)[0]

    def refused(**changes: Any) -> str:
        with pytest.raises(DataError) as caught:
            model.forecast([good | changes])
        return str(caught.value)

    assert "past['price']: missing" in refused(past={"weather": good["past"]["weather"]})
    assert "past['price']: 3 values, expected 54" in refused(past=good["past"] | {"price": [1, 2, 3]})
    assert "position 1: 'x' is text" in refused(past=good["past"] | {"price": ["x"] * 54})
    short = {**good["future"], "promo": good["future"]["promo"][:-1]}
    assert "future['promo']: 59 values, expected 60" in refused(future=short)
    hole = {**good["future"], "promo": [*good["future"]["promo"][:-2], None, 1.0]}
    assert "future['promo']: missing for step 5 ahead" in refused(future=hole)
    assert "static['size']: 1e+20 exceeds" in refused(static=good["static"] | {"size": 1e20})
    assert "static['size']: missing" in refused(static=good["static"] | {"size": None})
    assert "end is missing" in refused(end=None)


@pytest.mark.parametrize("policy", ["error", "drop"])
def test_short_histories_are_refused_or_left_out_by_the_policy(policy: str) -> None:
    forecaster = fit("nlinear", series_table().select("unique_id", "ds", "y"), short=policy)
    model = exported(forecaster)
    series = to_series(new_table()[0], model)
    series[1]["y"] = series[1]["y"][-5:]
    if policy == "error":
        with pytest.raises(DataError, match=r"'B': 5 values, needs 24 \(history\)"):
            model.forecast(series)
        return
    document = json.loads(model.answer(json.dumps({"series": series}).encode()))
    assert [item["id"] for item in document["series"]] == ["A", "C"]
    assert any("'B'" in note and "left out" in note for note in document["notes"])
    with pytest.raises(DataError, match="'B'"):
        model.forecast(series[1:2])


def test_rows_of_joined_requests_give_the_same_answers(full: Forecaster) -> None:
    table, future = new_table()
    model = exported(full)
    bodies = [json.dumps({"series": [item], "horizon": 3}).encode() for item in to_series(table, model, future)]
    prepared = [model.prepare_json(body) for body in bodies]
    joined = {name: np.concatenate([item.inputs[name] for item in prepared]) for name in prepared[0].inputs}
    output = model.run(joined)
    for row, (body, item) in enumerate(zip(bodies, prepared, strict=True)):
        assert item.size == 1
        alone, together = json.loads(model.answer(body)), json.loads(model.respond(item, output[row : row + 1]))
        assert alone["series"][0]["ds"] == together["series"][0]["ds"]
        np.testing.assert_allclose(alone["series"][0]["forecast"], together["series"][0]["forecast"], rtol=1e-5)
