"""Preparation of panels of more than four million rows: in blocks, with nothing for each row."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import Split, split_by_time
from neuro_divergent.data.windows import SampledWindows
from neuro_divergent.forecasting import row_weights as weights_module
from neuro_divergent.forecasting import validation as validation_module
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.forecasting.row_weights import RowWeights, row_weights
from neuro_divergent.forecasting.validation import describe_validation, validation_windows
from neuro_divergent.losses.weighted import Weighting
from neuro_divergent.losses.weighted.function import WeightFunction
from tests.reliability.large_panel import write_large_panel

ROWS = 6_000_000


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("panels") / "panel"
    write_large_panel(path, ROWS, covariate=True)
    return path


def small_panel(*, weight: bool) -> tuple[Panel, Split]:
    random = np.random.default_rng(1)
    frame = pl.concat(
        pl.DataFrame(
            {
                "unique_id": [name] * length,
                "ds": np.datetime64("2024-01-01") + np.arange(first, first + length),
                "y": np.where(random.random(length) < 0.1, np.nan, random.normal(size=length)),
                "w": random.random(length),
            }
        )
        for first, (name, length) in enumerate((("a", 50), ("b", 70), ("c", 33)), 1)
    )
    panel = build_panel(frame, Schema(missing="mask", weight="w" if weight else None))
    return panel, split_by_time(panel, input_size=6, horizon=3, validation=12)


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize(
    "weighting",
    [
        Weighting.from_dict("magnitude"),
        Weighting.from_dict({"name": "recency", "half_life": 9.0}),
        WeightFunction(lambda time, values: (time.astype("datetime64[D]").astype(int) % 7) + 1.0, rowwise=True),
    ],
    ids=["magnitude", "recency", "function"],
)
def test_weights_that_are_computed_when_needed_equal_those_of_all_rows_at_once(
    weighting: Weighting, weight: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel, split = small_panel(weight=weight)
    every = row_weights(panel, weighting, split.train)
    assert isinstance(every, np.ndarray)
    monkeypatch.setattr(weights_module, "BLOCK_ROWS", 10)
    monkeypatch.setattr(weights_module, "_READ", 7)
    needed = row_weights(panel, weighting, split.train)
    assert isinstance(needed, RowWeights)
    assert len(needed) == len(every)
    for windows in (split.train, split.validation):
        _, rows = windows.locate(np.arange(len(windows)))
        expected = every[rows[:, None] + np.arange(9)]
        found = needed.cut(rows, 9)
        assert found.dtype == np.float32
        assert_allclose(found, expected, rtol=1e-6)
    made = [
        WindowBatcher(panel, 6, 3, nd.scalers.StandardScaler(), weight=item).target_weight(rows)
        for item in (every, needed)
    ]
    assert made[0] is not None
    assert made[1] is not None
    assert_allclose(made[1].numpy(), made[0].numpy(), rtol=1e-6)


def test_rows_of_which_none_has_weight_are_refused_also_where_weights_are_computed_when_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel, split = small_panel(weight=False)
    monkeypatch.setattr(weights_module, "BLOCK_ROWS", 10)
    with pytest.raises(DataError, match="every target to train on has weight 0"):
        row_weights(panel, WeightFunction(lambda time, values: 0.0 * time.astype(int), rowwise=True), split.train)


def test_weighting_that_needs_all_rows_is_refused_for_a_panel_on_disk_with_what_helps(stored: Path) -> None:
    panel = Panel.open(stored)
    split = split_by_time(panel, input_size=6, horizon=3)
    with pytest.raises(ConfigError, match=r"weighs all rows at once, and these are 6,000,000 on disk. Pass rowwise="):
        row_weights(panel, WeightFunction(lambda time, values: np.ones(len(values))), split.train)


@pytest.mark.parametrize("settings", [{}, {"series_scaler": "standard", "weighting": Weighting.from_dict("magnitude")}])
def test_preparation_of_a_panel_on_disk_allocates_less_than_a_copy_of_it(
    stored: Path, settings: dict[str, Any]
) -> None:
    panel = Panel.open(stored)
    forecaster = nd.Forecaster("mlp", horizon=24, input_size=96, **settings)
    forecaster._prepare(small_panel(weight=False)[0].without_covariates("past"), {})  # loads modules
    tracemalloc.start()
    try:
        prepared = forecaster._prepare(panel, {})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < panel.nbytes
    assert prepared.panel is panel
    in_memory = forecaster._prepare(Panel.open(stored, mmap=False), {})
    assert in_memory.covariates.past is not None
    assert_array_equal(prepared.covariates.past, in_memory.covariates.past)
    assert_array_equal(prepared.scaler_params, in_memory.scaler_params)
    assert prepared.spreads is not None
    assert in_memory.spreads is not None
    assert_array_equal(prepared.spreads.series, in_memory.spreads.series)


def test_network_is_validated_on_a_sample_of_the_windows_of_a_large_panel(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = Panel.open(stored)
    forecaster = nd.Forecaster("mlp", horizon=24, input_size=96)
    prepared = forecaster._prepare(panel, {})
    assert describe_validation(prepared.split.validation) == (
        "Validation used 32,768 of the 49,800 windows of its part, evenly spread."
    )
    training = NetworkTraining(forecaster.architecture, forecaster.training, prepared)
    assert training.validation is not None
    assert training.validation.num_windows == 32_768
    series, _ = training.validation.windows.locate(np.arange(32_768))
    assert_allclose(np.bincount(series, minlength=600), 32_768 / 600, atol=2)
    few = dataclasses.replace(prepared.split.validation, begins=prepared.split.validation.ends - 30)
    assert not isinstance(validation_windows(few), SampledWindows)
    assert describe_validation(few) is None
    monkeypatch.setattr(validation_module, "BLOCK_ROWS", len(panel))
    assert len(validation_windows(prepared.split.validation)) == 49_800


def test_joint_windows_of_a_large_panel_are_sampled_by_the_series_they_span(stored: Path) -> None:
    panel = Panel.open(stored).without_covariates("past")
    split = split_by_time(panel, input_size=96, horizon=24, validation=0.9, joint=True)
    assert len(split.validation) > 256
    found = validation_windows(split.validation)
    assert len(found) == 256
    assert validation_module.validation_batch_size(found) == 2**24 // (600 * 120)
