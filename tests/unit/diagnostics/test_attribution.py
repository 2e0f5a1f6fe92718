"""Attribution against what is known exactly: weights of linear models, and variables that do nothing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.attribution import integrated_gradients, permutation_importance

HISTORY, HORIZON = 8, 3
PLAIN = Synthetic(num_series=3, length=60, seed=4).frame()
RICH = Synthetic(num_series=3, length=90, covariates=True, noise=0.1, seed=5).frame()
ROLES = {"past": ["visitors"], "future": ["price", "weather"], "static": ["size", "region"]}


def trained(architecture: Any, table: Any = PLAIN, steps: int = 20, schema: Any = None, **task: Any) -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=steps, threads=1)
    task = {"horizon": HORIZON, "input_size": HISTORY, **task}
    return nd.Forecaster(architecture, training=training, **task).fit(table, **(schema or {}))


def future_of(table: pl.DataFrame) -> pl.DataFrame:
    """Return the covariates of the horizon: the last rows of each series, moved to after its end."""
    last = table.group_by("unique_id", maintain_order=True).tail(HORIZON)
    return last.select("unique_id", pl.col("ds").dt.offset_by(f"{HORIZON}d"), "price", "weather")


@pytest.mark.parametrize("baseline", ["mean", "zero"])
@pytest.mark.parametrize("scaler", ["identity", "standard"])
def test_attributions_of_a_linear_model_are_its_weights_times_the_distance(baseline: Any, scaler: str) -> None:
    forecaster = trained("nlinear", scaler=scaler)
    weight = next(iter(forecaster.fitted.predictor.network.parameters())).detach().double().numpy()  # horizon, history
    # The last value is subtracted from all and added to the forecast.
    weight = weight + np.eye(HISTORY)[-1] * (1 - weight.sum(1, keepdims=True))
    found = integrated_gradients(forecaster, step=2, baseline=baseline, steps=8)
    for place, name in enumerate(forecaster.fitted.context.ids):
        history = forecaster.fitted.context.series(place).astype(np.float64)
        begin = history.mean() if baseline == "mean" else 0.0
        rows = found.filter(unique_id=name)
        assert rows["position"].to_list() == list(range(1 - HISTORY, 1))
        assert set(rows["variable"]) == {"y"}
        np.testing.assert_allclose(rows["attribution"], weight[1] * (history - begin), rtol=1e-3, atol=2e-3)


CASES: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]] = {
    "mlp with covariates": (nd.MLP(hidden_size=16), RICH, ROLES, {}),
    "smooth mlp": (nd.MLP(hidden_size=16, activation="Tanh"), PLAIN, {}, {"scaler": "revin"}),
    "lstm": (nd.LSTM(hidden_size=8), RICH, ROLES, {}),
    "quantiles": (nd.MLP(hidden_size=16), PLAIN, {}, {"loss": nd.QuantileLoss([0.1, 0.5, 0.9])}),
    "series scaler": (nd.MLP(hidden_size=16), PLAIN, {}, {"series_scaler": "log"}),
    "all series at once": (nd.TSMixer(hidden_size=16), PLAIN, {}, {}),
}


@pytest.mark.parametrize("baseline", ["mean", "zero"])
@pytest.mark.parametrize("case", CASES)
def test_attributions_sum_to_the_difference_between_the_forecasts(case: str, baseline: Any) -> None:
    architecture, table, schema, task = CASES[case]
    forecaster = trained(architecture, table, schema=schema, **task)
    future = future_of(table) if schema else None
    wanted = forecaster.predict(future=future)
    found = integrated_gradients(forecaster, future=future, steps=400, baseline=baseline)
    sums = found.group_by("unique_id", maintain_order=True).agg(pl.col("attribution").sum())["attribution"].to_numpy()
    mean = wanted.group_by("unique_id", maintain_order=True).agg(pl.col("forecast").mean())["forecast"].to_numpy()
    flat = _flat_forecast(forecaster, table, future, baseline)
    np.testing.assert_allclose(sums, mean - flat, rtol=0.02, atol=0.02 * np.abs(mean - flat).max() + 1e-3)


def _flat_forecast(forecaster: nd.Forecaster, table: pl.DataFrame, future: Any, baseline: str) -> Any:
    """Return the mean forecast from the baseline, made by hand from the batch that the forecast is made from."""
    from neuro_divergent.forecasting.prediction_context import PredictionContext

    outlook = PredictionContext.of(forecaster.fitted, future=future)
    batcher, (batch,) = outlook.batcher, outlook.batches
    panel = batcher.panel

    def moved(values: Any, role: str) -> Any:
        if values is None:
            return None
        values = values.clone()
        for place, feature in enumerate(getattr(panel, role)):
            if feature.cardinality is None:
                scaling = getattr(batcher.covariates, role)[:, place]
                if baseline == "zero":
                    values[..., place] = -float(scaling[0]) / float(scaling[1])
                else:
                    values[..., place] = 0.0 if role == "static" else values[..., place].mean(1, keepdim=True)
        return values

    with torch.inference_mode():
        zero = batcher.rescale(torch.zeros_like(batch.past_y), batch)
        history = zero if baseline == "zero" else batch.past_y.mean(1, keepdim=True).expand_as(batch.past_y)
        changed = {f"{role}_x": moved(getattr(batch, f"{role}_x"), role) for role in ("past", "future", "static")}
        point, _ = forecaster.fitted.predictor.values(batcher, batch._replace(past_y=history, **changed), ())
    return point.mean(1).T.reshape(-1).numpy() if batcher.joint else point.mean((1, 2)).numpy()


def test_positions_and_variables_are_those_of_the_window() -> None:
    forecaster = trained(nd.MLP(hidden_size=16), RICH, schema=ROLES, steps=2)
    found = integrated_gradients(forecaster, series="series-1", future=future_of(RICH), steps=4)
    spans = {
        row["variable"]: (row["low"], row["high"], row["rows"])
        for row in found.group_by("variable")
        .agg(low=pl.col("position").min(), high=pl.col("position").max(), rows=pl.len())
        .to_dicts()
    }
    assert spans == {
        "y": (1 - HISTORY, 0, HISTORY),
        "visitors": (1 - HISTORY, 0, HISTORY),
        "price": (1 - HISTORY, HORIZON, HISTORY + HORIZON),
        "size": (None, None, 1),
    }
    assert set(found["unique_id"]) == {"series-1"}


def test_where_windows_span_all_series_each_history_has_its_own_attribution() -> None:
    forecaster = trained(nd.TSMixer(hidden_size=16), steps=2)
    found = integrated_gradients(forecaster, series=["series-2", "series-0"], steps=4)
    assert found["unique_id"].unique(maintain_order=True).to_list() == ["series-2", "series-0"]
    assert found["variable"].unique(maintain_order=True).to_list() == ["series-0", "series-1", "series-2"]
    assert found.height == 2 * 3 * HISTORY


def test_tables_are_of_the_same_kind_as_the_input() -> None:
    forecaster = trained("nlinear", PLAIN.to_pandas(), steps=2)
    assert isinstance(integrated_gradients(forecaster, steps=2), pd.DataFrame)
    assert isinstance(permutation_importance(forecaster, repeats=1), pd.DataFrame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 0}, "1 to 3"),
        ({"step": 4}, "1 to 3"),
        ({"steps": 1}, "at least 2"),
        ({"baseline": "median"}, "'mean' or 'zero'"),
        ({"series": "nobody"}, "'nobody' is not one of the 3 series"),
    ],
)
def test_wrong_arguments_of_integrated_gradients_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        integrated_gradients(trained("nlinear", steps=1), **arguments)


def test_a_scaler_without_a_zero_has_no_such_baseline() -> None:
    reciprocal = PLAIN.with_columns(y=1 / (1 + pl.Series(np.random.default_rng(1).random(PLAIN.height))))
    forecaster = trained("nlinear", reciprocal, steps=1, series_scaler="boxcox")
    with pytest.raises(InputError, match="has no zero"):
        integrated_gradients(forecaster, baseline="zero")


def test_without_captum_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    with pytest.raises(MissingDependencyError, match=r"neuro-divergent\[attribution\]"):
        integrated_gradients(trained("nlinear", steps=1))


def driven() -> pl.DataFrame:
    """Return series that are ten times a covariate, beside another that says nothing."""
    random = np.random.default_rng(0)
    rows = 120
    frames = [
        pl.DataFrame(
            {
                "unique_id": [f"s{number}"] * rows,
                "ds": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 1) + pl.duration(days=rows - 1), eager=True),
                "driver": (driver := random.normal(size=rows)),
                "noise": random.normal(size=rows),
                "y": 10 * driver + 0.1 * random.normal(size=rows),
            }
        )
        for number in range(3)
    ]
    return pl.concat(frames)


def test_what_drives_the_target_matters_and_what_does_not_drive_it_does_not() -> None:
    forecaster = trained(
        nd.MLP(hidden_size=32),
        driven(),
        300,
        {"future": ["driver", "noise"]},
        scaler="identity",
        series_scaler="standard",
    )
    found = permutation_importance(forecaster)
    assert found.columns == ["variable", "part", "importance", "low", "high"]
    rows = {row["variable"]: row for row in found.to_dicts()}
    assert rows["driver"]["part"] == "future"
    assert rows["driver"]["low"] > 3
    assert abs(rows["noise"]["importance"]) < 0.15 * rows["driver"]["importance"]
    assert abs(rows["y"]["importance"]) < 0.15 * rows["driver"]["importance"]
    assert (found["low"] <= found["importance"]).all()
    assert (found["importance"] <= found["high"]).all()


def test_the_steps_of_the_history_that_matter_are_found() -> None:
    forecaster = trained("nlinear", PLAIN, 5, scaler="identity", input_size=16)
    with torch.no_grad():  # forecasts are exactly the value of fourteen steps ago: position -13
        weight, bias = forecaster.fitted.predictor.network.parameters()
        weight.zero_()
        weight[:, 2] = 1.0
        bias.zero_()
    found = permutation_importance(forecaster).filter(part="steps")
    assert found["variable"].to_list()[:2] == ["y at -15 to -14", "y at -13 to -12"]
    assert found["variable"].to_list()[-1] == "y at -1 to 0"
    moved = dict(found.select("variable", "importance").iter_rows())
    read = moved.pop("y at -13 to -12")
    assert max(map(abs, moved.values())) < 1e-5 < abs(read)


def test_importance_is_the_rise_of_the_error_worked_out_by_hand() -> None:
    forecaster = trained("nlinear", PLAIN, 30)
    found = permutation_importance(forecaster, repeats=2, seed=7).filter(part="history").row(0, named=True)
    assert forecaster.split is not None
    windows = forecaster.split.validation
    batcher = forecaster.fitted.batcher(windows.panel)
    batch = batcher.windows(*windows.locate(np.arange(len(windows))))
    random = np.random.default_rng(7)

    def error(past: torch.Tensor) -> float:
        raw = forecaster.fitted.predictor.network(batch._replace(past_y=past)).detach().squeeze(-1)
        return float(((raw - batch.future_y) * batch.scale).abs().mean())

    rises = [error(batch.past_y[random.permutation(len(windows))]) - error(batch.past_y) for _ in range(2)]
    assert found["importance"] == pytest.approx(np.mean(rises), rel=1e-4)
    assert (found["low"], found["high"]) == pytest.approx((min(rises), max(rises)), rel=1e-4)


@pytest.mark.parametrize("architecture", [nd.MLP(hidden_size=16), nd.TSMixer(hidden_size=16)])
@pytest.mark.parametrize("scaler", ["revin", "standard"])
def test_the_same_seed_gives_the_same_table_and_the_model_stays_as_it_is(architecture: Any, scaler: str) -> None:
    calendar = ["day_of_week"] if architecture.traits.future_x else []
    table = Synthetic(num_series=2, length=90, missing=0.1).frame()
    forecaster = trained(architecture, table, 5, {"missing": "mask", "calendar": calendar}, scaler=scaler)
    before = forecaster.predict()
    first, second = (permutation_importance(forecaster, windows=9, seed=3) for _ in range(2))
    assert first.equals(second)
    assert not first.equals(permutation_importance(forecaster, windows=9, seed=4))
    assert set(first["part"]) == {"history", "steps", *(["future"] if calendar else [])}
    assert forecaster.predict().equals(before)


def test_other_data_are_forecast_too() -> None:
    forecaster = trained("nlinear", PLAIN, 5)
    other = Synthetic(num_series=2, length=40, seed=9).frame()
    assert permutation_importance(forecaster, data=other).height == 1 + HISTORY


def test_one_window_is_refused(tmp_path: Any) -> None:
    forecaster = trained("nlinear", PLAIN, 1, {"short": "error"})
    with pytest.raises(InputError, match="only 1"):
        permutation_importance(forecaster, data=PLAIN.head(HISTORY + HORIZON))
    with pytest.raises(InputError, match="repeats"):
        permutation_importance(forecaster, repeats=0)
    forecaster.save(tmp_path / "model")
    with pytest.raises(InputError, match="pass data"):
        permutation_importance(nd.Forecaster.load(tmp_path / "model"))
