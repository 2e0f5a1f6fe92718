"""Scores of large panels: block by block they are those of all windows at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.windows import SampledWindows, Windows
from neuro_divergent.evaluation import metrics, window_blocks, window_scorer
from neuro_divergent.evaluation.baselines import Baselines
from neuro_divergent.evaluation.conformal import conformal, cutoffs
from neuro_divergent.evaluation.cross_validation import forecast_values
from neuro_divergent.evaluation.cross_validation.cross_validation import scores_of
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.evaluate import Evaluation, evaluate
from neuro_divergent.evaluation.window_blocks import block_size, first_targets, forecast_blocks
from neuro_divergent.forecasting.statistical import naive
from tests.unit.evaluation.test_baselines import panel_of

HORIZON, HISTORY = 4, 12
TRAINING = nd.TrainingConfig(max_steps=3, batch_size=32)


def table(*, aligned: bool = False, holes: bool = False, covariates: bool = False) -> pl.DataFrame:
    """Return seven series, of several lengths unless they are aligned."""
    rng, frames = np.random.default_rng(3), []
    for place in range(7):
        count = 70 if aligned else 45 + 9 * place
        y = 10 * place + np.sin(np.arange(count) / 3) + rng.normal(0, 0.2, count)
        columns = {"unique_id": [f"s{place}"] * count, "ds": np.arange(count), "y": y}
        if covariates:
            columns |= {"price": rng.normal(size=count), "shop": [f"shop {place % 3}"] * count}
        frames.append(pl.DataFrame(columns))
    frame = pl.concat(frames)
    if holes:
        frame = frame.with_columns(pl.when(pl.Series(rng.random(frame.height) < 0.85)).then("y").alias("y"))
    return frame


CASES = {
    "ragged": ({}, {}, {}),
    "masked": ({"holes": True}, {}, {"missing": "mask"}),
    "covariates": ({"covariates": True}, {"model": "mlp"}, {"past": "price", "static": "shop", "id": "unique_id"}),
    "joint": ({"aligned": True}, {"model": "tsmixer"}, {}),
    "scaled by series": ({}, {"series_scaler": "standard"}, {}),
}


@pytest.fixture(scope="module", params=CASES)
def trained(request: pytest.FixtureRequest) -> nd.Forecaster:
    shape, settings, schema = CASES[request.param]
    settings = dict(settings)
    model = nd.Forecaster(
        settings.pop("model", "nlinear"), horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING,
        **settings,
    )  # fmt: skip
    return model.fit(table(**shape), **schema)


def in_blocks(patch: pytest.MonkeyPatch, values: int = 24, most: int = 10**6) -> None:
    """Treat every panel as a large one."""
    for module in (window_blocks, window_scorer, cutoffs):
        patch.setattr(module, "SMALL", 0)
    patch.setattr(window_blocks, "_VALUES", values)
    patch.setattr(window_blocks, "_BATCH", 1)
    patch.setattr(window_scorer, "_MOST_VALUES", most)


def assert_close(one: pl.DataFrame, other: pl.DataFrame) -> None:
    """Compare tables: numbers up to rounding of sums and of networks on batches of another size."""
    assert one.columns == other.columns
    for name in one.columns:
        if one[name].dtype.is_float():
            np.testing.assert_allclose(one[name].to_numpy(), other[name].to_numpy(), rtol=2e-5, atol=1e-6)
        else:
            assert one[name].equals(other[name])


def assert_same(one: Evaluation, other: Evaluation) -> None:
    assert (one.model, one.part, one.note, one.windows) == (other.model, other.part, other.note, other.windows)
    for name in ("table", "per_series", "coverage", "forecasts"):
        assert_close(getattr(one, name), getattr(other, name))


def test_evaluation_by_blocks_equals_evaluation_at_once(
    trained: nd.Forecaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = evaluate(trained)
    in_blocks(monkeypatch)
    windows = trained.split.validation
    assert block_size(windows) < len(windows)
    assert_same(evaluate(trained), expected)


def test_blocks_of_whole_batches_give_the_same_forecasts_and_series_scores_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from neuro_divergent.forecasting import predictor

    monkeypatch.setattr(predictor, "_ROWS", 6)
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    model.fit(table(holes=True), missing="mask")
    expected = evaluate(model)
    in_blocks(monkeypatch)
    monkeypatch.setattr(window_blocks, "_BATCH", 6)
    found = evaluate(model)
    assert found.forecasts.equals(expected.forecasts)
    assert found.per_series.equals(expected.per_series)
    assert_close(found.table, expected.table)
    assert found.coverage["coverage"].equals(expected.coverage["coverage"])


def test_evaluation_of_new_data_on_disk_equals_that_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table(holes=True)
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, training=TRAINING).fit(frame, missing="mask")
    expected = evaluate(model, frame, last=20)
    build_panel(frame, Schema(missing="mask")).save(tmp_path / "panel")
    in_blocks(monkeypatch)
    assert_same(evaluate(model, tmp_path / "panel", last=20), expected)


def test_table_of_forecasts_of_a_large_panel_holds_complete_series_and_the_note_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    model.fit(table())
    everything = evaluate(model)
    in_blocks(monkeypatch, most=60)
    found = evaluate(model)
    names = found.forecasts["unique_id"].unique(maintain_order=True).to_list()
    assert 1 < len(names) < 7
    assert_close(found.forecasts, everything.forecasts.filter(pl.col("unique_id").is_in(names)))
    assert_close(found.table, everything.table)
    assert found.note == f"{everything.note} Scores are over all forecasts; the table of forecasts holds those of " + (
        f"{len(names)} of 7 series, evenly spread."
    )


def test_ensemble_and_statistical_model_are_evaluated_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    one = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    models = [nd.Ensemble([one, one.with_settings({"training.seed": 1})]), nd.Statistical("drift", horizon=HORIZON)]
    for model in models:
        model.fit(table())
        monkeypatch.undo()
        expected = evaluate(model)
        in_blocks(monkeypatch)
        assert_same(evaluate(model), expected)


def test_conformal_model_is_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    wrapped = nd.Conformal(model, method="adaptive").fit(table())
    in_blocks(monkeypatch)
    assert len(list(forecast_blocks(wrapped, model.split.validation))) == 1
    assert len(list(forecast_blocks(model, model.split.validation))) > 1


def located(windows: Windows) -> Ints:
    """Return the first target of each series from the place of every window."""
    series, rows = windows.locate(np.arange(len(windows)))
    first = np.full(windows.panel.num_series, len(windows.panel), np.int64)
    for place, row in zip(series, rows + windows.input_size, strict=True):
        first[place] = min(first[place], row)
    return first


def test_first_targets_are_those_of_all_located_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = panel_of(*([1.0] * count for count in (30, 5, 41, 18)))
    windows = Windows(panel, HISTORY, HORIZON, panel.offsets[1:] - np.array([9, 5, 20, 2]), panel.offsets[1:], 3)
    listed = WindowList.like(windows, *windows.locate(np.array([2, 0, 1])))
    monkeypatch.setattr(window_blocks, "_VALUES", 2)
    for some in (windows, SampledWindows.of(windows, 3), listed):
        np.testing.assert_array_equal(first_targets(some), located(some))


panels = st.lists(
    st.lists(st.one_of(st.none(), st.integers(-50, 50).map(float)), min_size=1, max_size=24), min_size=1, max_size=4
)


def panel_with_holes(series: list[list[float | None]]) -> Panel:
    panel = panel_of(*([0.0 if value is None else value for value in values] for values in series))
    mask = np.array([value is not None for values in series for value in values])
    return dataclasses.replace(panel, mask=mask)


@given(panels, st.integers(1, 7), st.integers(1, 5), st.integers(1, 3))
def test_baselines_equal_those_found_row_by_row(
    series: list[list[float | None]], season: int, horizon: int, looked_at: int
) -> None:
    panel = panel_with_holes(series)
    places = [(index, row) for index, values in enumerate(series) for row in range(len(values) + 1)]
    owners = np.array([index for index, _ in places])
    rows = panel.offsets[:-1][owners] + np.array([row for _, row in places])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive, "_STEPS_BACK", looked_at)
        patch.setattr(naive, "_SCANNED", 3)
        found = Baselines(panel, owners, rows, horizon, season).all()
    for place, (index, row) in enumerate(places):
        past = series[index][:row]
        known = [value for value in past if value is not None]
        last = known[-1] if known else np.nan
        np.testing.assert_equal(found["last value"][place], [last] * horizon)
        for step in range(horizon):
            same = range(row - season + step % season, -1, -season)
            phase = [past[at] for at in same if past[at] is not None]
            np.testing.assert_equal(found["seasonal naive"][place, step], phase[0] if phase else last)


@given(panels, st.integers(1, 6), st.integers(1, 9), st.booleans())
def test_seasonal_error_by_blocks_equals_the_mean_over_pairs(
    series: list[list[float | None]], season: int, rows: int, squared: bool
) -> None:
    panel = panel_with_holes(series)
    ends = panel.offsets[1:] - panel.lengths // 4
    arguments = (panel.y, panel.offsets, ends, season, panel.mask)
    at_once = metrics.seasonal_error(*arguments, squared=squared)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_ROWS", rows)
        np.testing.assert_array_equal(metrics.seasonal_error(*arguments, squared=squared), at_once)
    for index, values in enumerate(series):
        known = values[: int(ends[index] - panel.offsets[index])]
        pairs = [b - a for a, b in zip(known, known[season:], strict=False) if a is not None and b is not None]
        terms = np.square(pairs) if squared else np.abs(pairs)
        mean = terms.mean() if pairs else np.nan
        np.testing.assert_allclose(at_once[index], np.sqrt(mean) if squared else mean, rtol=1e-12)


def test_history_of_a_panel_gives_the_scores_of_its_table() -> None:
    frame = table(holes=True)
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, training=TRAINING).fit(frame, missing="mask")
    result = nd.backtest(model, frame, cutoffs=3)
    panel, wanted = result.panel, ["mase", "rmsse", "directional_accuracy", "mae"]
    made = forecast_values.PanelHistory.of_named(result.forecasts, panel, 7)
    values = pl.DataFrame({"series": made.series, "row": made.rows})
    arguments = (result.forecasts, panel, ["forecast", "drift"], wanted, 7)
    for by in (None, "cutoff", "unique_id"):
        assert scores_of(*arguments, by, values=values).equals(scores_of(*arguments, by))


def test_conformal_intervals_by_blocks_of_series_equal_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    wrapped = nd.Conformal(model, per="series").fit(table())
    expected = wrapped.predict(levels=[80], quantiles=[0.1, 0.5])
    monkeypatch.setattr(conformal, "_SERIES", 3)
    assert wrapped.predict(levels=[80], quantiles=[0.1, 0.5]).equals(expected)


def test_large_panel_is_calibrated_on_a_bounded_number_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    model.fit(table())
    in_blocks(monkeypatch)
    monkeypatch.setattr(cutoffs, "_WINDOWS", 5)
    monkeypatch.setattr(cutoffs, "_MOST_WINDOWS", 4)
    windows = cutoffs.held_out(model, cutoffs=None, step=None)
    assert len(windows) == 4
    assert len(np.unique(windows.locate(np.arange(4))[0])) == 4
    assert len(cutoffs.held_out(model, cutoffs=None, step=1)) == 7 * (16 - HORIZON + 1)


def test_conformal_update_uses_the_windows_completed_since_the_last_one() -> None:
    frame = table()
    model = nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, validation=16, training=TRAINING)
    model.fit(frame.filter(pl.col("ds") < pl.col("ds").max().over("unique_id") - 6))
    ends = {f"s{place}": 45 + 9 * place - 8 for place in range(6)}  # the last series is not known
    windows = cutoffs.completed_since(model, frame, ends, 1)
    series, rows = windows.locate(np.arange(len(windows)))
    last = rows + HISTORY + HORIZON - 1 - windows.panel.offsets[series]
    for place in range(7):
        count = 45 + 9 * place
        first = ends.get(f"s{place}", HISTORY + HORIZON - 2) + 1
        assert sorted(last[series == place]) == list(range(first, count))
