"""A model as one module of raw windows forecasts what ``predict`` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import ExportError
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.serving.export.exporter import exportable
from neuro_divergent.serving.export.torch_runner import TorchRunner
from neuro_divergent.serving.export.verification import TOLERANCE, verify
from tests.unit.serving.export.small_models import (
    COLORS,
    COUNTS,
    HISTORY,
    HORIZON,
    KINDS,
    ROWS,
    TABLE,
    TREE,
    forecaster,
    nhits,
    series_table,
)

Models = Callable[[str], nd.Forecaster]
QUANTILE = nd.QuantileLoss([0.1, 0.5, 0.9])


def compare(model: ForecastModel, **options: Any) -> None:
    """Compare a module, run by torch, with ``predict`` in batches of 1, 3 and 257."""
    module, description = exportable(model, **options)
    verify(model, description, TorchRunner(module).run, tolerance=TOLERANCE)


def windows(table: pl.DataFrame) -> dict[str, Array]:
    """Return the last rows of each series as a graph reads them, without ``series``."""
    values = table["y"].to_numpy().astype(np.float32).reshape(-1, ROWS)[:, -HISTORY:, None]
    return {"past_y": np.ascontiguousarray(values), "past_mask": np.ones_like(values)}


def run(model: ForecastModel, inputs: dict[str, Array], **options: Any) -> Array:
    module, _ = exportable(model, **options)
    return TorchRunner(module).run(inputs)[:, :, 0]


def test_known_series_have_the_forecasts_of_predict_by_their_place(models: Models) -> None:
    model = models("linear")
    found = run(model, {**windows(TABLE), "series": np.arange(3)}, levels=[80])
    expected = model.predict(levels=[80]).select("forecast", "lo-80", "hi-80").to_numpy().reshape(3, HORIZON, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_new_series_have_the_forecasts_of_predict_with_the_scale_of_their_history(models: Models) -> None:
    """A history that is constant has the usual scale of its series, if that is known, and else of its level."""
    model = models("linear")
    others = series_table(("x", "y", "z"), seed=1).with_columns(
        pl.when(pl.col("unique_id") == "y").then(7.0).otherwise("y").alias("y")
    )
    expected = model.predict(others, levels=[80]).select("forecast", "lo-80", "hi-80").to_numpy()
    unknown = run(model, {**windows(others), "series": np.full(3, -1)}, levels=[80])
    np.testing.assert_allclose(unknown, expected.reshape(3, HORIZON, 3), rtol=1e-5)
    known = run(model, {**windows(others), "series": np.arange(3)}, levels=[80])
    assert not np.allclose(known[1], unknown[1], rtol=1e-3)


def test_series_scaler_is_looked_up_by_place() -> None:
    model = forecaster(series_scaler="standard", scaler="identity").fit(TABLE)
    inputs = windows(TABLE)
    expected = model.predict()["forecast"].to_numpy().reshape(3, HORIZON)
    order = np.array([2, 0, 2, 1])
    moved = {name: array[order] for name, array in inputs.items()}
    found = run(model, {**moved, "series": order}, levels=[])
    np.testing.assert_allclose(found[..., 0], expected[order], rtol=1e-5)
    other = run(model, {**moved, "series": (order + 1) % 3}, levels=[])
    assert not np.allclose(found, other, rtol=1e-3)


def test_missing_values_are_masked() -> None:
    model = nhits().fit(TABLE, missing="mask")
    holes = TABLE.with_columns(
        pl.when(pl.int_range(pl.len()).over("unique_id").is_in([80, 82, 89])).then(None).otherwise("y").alias("y")
    )
    inputs = windows(holes.with_columns(pl.col("y").fill_null(0)))
    inputs["past_mask"] = windows(holes)["past_y"] == windows(holes)["past_y"]
    inputs["past_mask"] = inputs["past_mask"].astype(np.float32)
    assert inputs["past_mask"].sum() == 3 * (HISTORY - 3)
    found = run(model, {**inputs, "series": np.arange(3)}, levels=[])
    expected = model.predict(holes)["forecast"].to_numpy().reshape(3, HORIZON)
    np.testing.assert_allclose(found[..., 0], expected, rtol=1e-5)


def test_covariates_are_codes_and_numbers_in_the_order_of_the_description(models: Models) -> None:
    model = models("covariates")
    longer = series_table(rows=ROWS + HORIZON, seed=2)
    step = pl.int_range(pl.len()).over("unique_id")
    past, ahead = longer.filter(step < ROWS), longer.filter(step >= ROWS)
    table = model.predict(past, future=ahead.drop("y"))

    def last(column: str, codes: Any = None) -> Array:
        values = longer[column].to_list()
        numbers = np.array([codes.index(value) + 1 for value in values] if codes else values, np.float32)
        return numbers.reshape(3, -1)

    hour = longer["ds"].dt.hour().to_numpy() / 23 - 0.5
    turn = np.sin(2 * np.pi * (longer["ds"].dt.weekday().to_numpy() - 1) / 7)
    calendar = [values.astype(np.float32).reshape(3, -1) for values in (hour, turn)]
    known = np.stack([last("price"), last("event", KINDS), *calendar], -1)
    seen = np.stack([last("seen"), last("color", COLORS)], -1)[:, :ROWS]
    inputs = {
        **windows(past),
        "past_x": seen[:, -HISTORY:],
        "future_x": known[:, -HISTORY - HORIZON :],
        "static_x": np.array([[1, 0], [2, 1], [1, 2]], np.float32),
        "series": np.arange(3),
    }
    found = run(model, inputs, levels=[])
    np.testing.assert_allclose(found[..., 0], table["forecast"].to_numpy().reshape(3, HORIZON), rtol=1e-5)


@pytest.mark.parametrize("scaler", WindowScaler.registry.names())
def test_every_window_scaler_equals_predict(scaler: str) -> None:
    compare(forecaster(scaler=scaler).fit(TABLE))


@pytest.mark.parametrize("scaler", SeriesScaler.registry.names())
@pytest.mark.parametrize("window", ["standard", pytest.param("identity", marks=pytest.mark.long)])
def test_every_series_scaler_equals_predict(scaler: str, window: str) -> None:
    compare(forecaster(series_scaler=scaler, scaler=window).fit(TABLE))


@pytest.mark.parametrize("loss", ["mse", QUANTILE, "normal", "poisson"])
def test_points_quantiles_and_distributions_equal_predict(loss: Any) -> None:
    compare(forecaster(loss=loss).fit(COUNTS))


@pytest.mark.parametrize("kind", ["linear", "scaled", "covariates"])
def test_models_equal_predict(models: Models, kind: str) -> None:
    compare(models(kind))


def test_joint_model_takes_all_series_side_by_side_and_no_place() -> None:
    model = forecaster("tsmixerx", series_scaler="standard").fit(TABLE, calendar=["hour"])
    _, description = exportable(model)
    assert (description.joint, description.channels, description.takes_series) == (True, 3, False)
    assert description.series == ("a", "b", "c")
    compare(model)


@pytest.mark.parametrize("kind", ["linear", "covariates"])
def test_model_without_context_equals_predict_on_series_it_never_saw(models: Models, kind: str, tmp_path: Path) -> None:
    models(kind).save(tmp_path / "bare", context=False)
    bare = nd.load(tmp_path / "bare")
    _, description = exportable(bare)
    assert not description.takes_series
    assert description.series == ()
    assert description.target_range is None
    compare(bare)


@pytest.mark.long
def test_one_series_without_a_name_equals_predict() -> None:
    alone = TABLE.filter(pl.col("unique_id") == "a").drop("unique_id")
    compare(nhits(series_scaler="robust").fit(alone, past=["seen"], future=["price"]))


@pytest.mark.long
def test_times_of_every_kind_equal_predict(tmp_path: Path) -> None:
    row = pl.int_range(pl.len()).over("unique_id")
    monthly = pl.date(2010, 1, 1).dt.offset_by(pl.format("{}mo", row)).dt.month_end()
    for times in (row + 5, monthly, pl.col("ds").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")):
        model = forecaster().fit(TABLE.with_columns(times.alias("ds")))
        compare(model)
        model.save(tmp_path / "bare", context=False)
        compare(nd.load(tmp_path / "bare"))


MEMBERS = {
    "points": lambda: [forecaster(), forecaster(input_size=8, series_scaler="standard")],
    "quantiles": lambda: [
        forecaster(loss=QUANTILE),
        forecaster(loss="normal"),
        forecaster(loss=QUANTILE, input_size=9),
    ],
    "mixed": lambda: [forecaster("tsmixerx"), nhits(input_size=8, series_scaler="standard")],
}


@pytest.mark.parametrize(
    ("members", "settings"),
    [
        ("points", {}),
        ("points", {"combine": "median", "weights": [2, 1]}),
        ("quantiles", {}),
        ("quantiles", {"combine": "median", "weights": [2, 1, 1]}),
        ("quantiles", {"combine": "quantile_average"}),
        pytest.param("mixed", {}, marks=pytest.mark.long),
    ],
)
def test_ensemble_is_one_module_that_equals_predict(members: str, settings: dict[str, Any]) -> None:
    schema = {"calendar": ["hour"]} if members == "mixed" else {}
    compare(nd.Ensemble(MEMBERS[members](), **settings).fit(TABLE, vectorize=False, **schema))


def test_one_model_for_each_quantile_equals_predict() -> None:
    compare(nd.Ensemble.quantiles(forecaster()).fit(TABLE, vectorize=False))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"per": "series", "symmetric": False, "scaled": False},
        {"by": "pooled", "whole": True},
        {"method": "cqr"},
    ],
)
def test_conformal_intervals_equal_predict(settings: dict[str, Any]) -> None:
    compare(nd.Conformal(forecaster(loss="normal" if "method" in settings else "mae"), **settings).fit(TABLE))


@pytest.mark.long
def test_conformal_intervals_around_other_models_equal_predict() -> None:
    compare(nd.Conformal(nd.Ensemble(MEMBERS["points"]())).fit(TABLE))
    compare(nd.Conformal(forecaster("tsmixer"), per="series").fit(TABLE))
    compare(nd.Conformal(nd.HINT(forecaster(), TREE, "bottom_up")).fit(TREE.aggregate_table(TABLE)))


@pytest.mark.parametrize("method", ["mint_shrink", "bottom_up"])
def test_hierarchy_is_one_module_that_equals_predict_and_adds_up(method: Any) -> None:
    model = nd.HINT(forecaster(validation=0.5), TREE, method).fit(TREE.aggregate_table(TABLE))
    module, description = exportable(model)
    assert description.joint
    compare(model)
    history = np.abs(np.random.default_rng(0).normal(size=(2, HISTORY, 4))).astype(np.float32) + 5
    made = TorchRunner(module).run({"past_y": history, "past_mask": np.ones_like(history)})[..., 0]
    total = list(description.series).index(next(name for name in description.series if name not in ("a", "b", "c")))
    parts = [place for place in range(4) if place != total]
    np.testing.assert_allclose(made[..., total], made[..., parts].sum(-1), rtol=1e-5)


def auto_plan(*members: tuple[str, str, float]) -> dict[str, Any]:
    return {
        "setting": {"horizon": HORIZON, "season": 24},
        "members": [
            {
                "name": name,
                "kind": kind,
                "model": name,
                "weight": weight,
                "steps": 5,
                "history": HISTORY,
                "settings": {"task.input_size": HISTORY} if kind == "network" else {},
            }
            for name, kind, weight in members
        ],
        "backs": [3, 6],
        "history": 20,
    }


@pytest.mark.long
def test_search_won_by_one_network_is_exported_with_its_intervals() -> None:
    """Their widths are in units of the spread of more rows than the network reads."""
    plan = auto_plan(("nlinear", "network", 1.0))
    model = nd.AutoForecaster.from_plan(plan, jobs=1).fit(TABLE.select("unique_id", "ds", "y"))
    _, description = exportable(model)
    assert description.input_size == 20
    assert len(description.quantiles) == 6
    compare(model)


@pytest.mark.long
def test_search_won_by_several_models_is_refused_by_their_names() -> None:
    plan = auto_plan(("nlinear", "network", 0.6), ("seasonal_naive", "naive", 0.4))
    model = nd.AutoForecaster.from_plan(plan, jobs=1).fit(TABLE.select("unique_id", "ds", "y"))
    with pytest.raises(ExportError, match=r"combines nlinear \(network\), seasonal_naive \(naive\)"):
        exportable(model)
