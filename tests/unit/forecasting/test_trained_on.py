"""What a model says about the data that its weights come from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting import trained_on as module
from neuro_divergent.forecasting.trained_on import TrainedOn, find_target_range

TRAINING = nd.TrainingConfig(max_steps=2, threads=1, early_stopping=None)


def table(values: list[list[float | None]]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"unique_id": [f"s{place}"] * len(series), "ds": range(len(series)), "y": series},
                     schema={"unique_id": pl.String, "ds": pl.Int64, "y": pl.Float64})
        for place, series in enumerate(values)
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::neuro_divergent.errors.DataWarning")  # of constant series
@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(
        st.lists(st.none() | st.floats(-100, 100, width=32), min_size=2, max_size=9).filter(
            lambda series: any(value is not None for value in series)
        ),
        min_size=1,
        max_size=5,
    ),
    kept=st.lists(st.integers(0, 9), min_size=5, max_size=5),
    block=st.integers(1, 7),
)
def test_range_of_targets_is_that_of_observed_rows_before_the_ends(
    values: list[list[float | None]], kept: list[int], block: int
) -> None:
    panel = build_panel(table(values), Schema(missing="mask", frequency=1))
    counts = [min(count, len(series)) for count, series in zip(kept, values, strict=False)]
    seen = [
        value
        for series, count in zip(values, counts, strict=True)
        for value in series[:count]
        if value is not None
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_READ", block)  # so that series are divided over several blocks
        found = find_target_range(panel, panel.offsets[:-1] + np.array(counts))
    assert found == ((min(seen), max(seen)) if seen else None)


def test_saved_model_has_the_range_of_its_training_rows_and_one_without_context_has_none(tmp_path: Path) -> None:
    steps = np.arange(60.0)
    frame = table([[*(10 + steps % 7)], [*(steps % 5)]])
    model = nd.Forecaster("nlinear", horizon=2, input_size=6, test=5, training=TRAINING).fit(frame)
    assert model.fitted.trained_on is not None
    assert model.fitted.trained_on.target_range == (0.0, 16.0)
    model.save(tmp_path / "model")
    assert nd.Forecaster.load(tmp_path / "model").fitted.trained_on == model.fitted.trained_on
    model.save(tmp_path / "bare", context=False)
    bare = nd.Forecaster.load(tmp_path / "bare").fitted.trained_on
    assert bare is not None
    assert bare.target_range is None


def test_description_of_earlier_versions_has_no_range_and_is_read() -> None:
    old = {"steps": 3, "windows": 7, "all_rows": True}
    assert TrainedOn.from_dict(old) == TrainedOn(3, 7, True)
    new = TrainedOn(3, 7, True, (1.0, 2.0))
    assert new.to_dict() == old  # which earlier versions read
    assert TrainedOn.from_dict(json.loads(json.dumps(new.to_dict())), [1.0, 2.0]) == new


@pytest.mark.parametrize("values", [[1.0], [2.0, 1.0], [0.0, float("inf")], ["a", "b"], 3, [1, 2]])
def test_range_that_is_none_is_refused(values: object) -> None:
    with pytest.raises(ValueError, match="target_range"):
        TrainedOn.from_dict({"steps": 1, "windows": 1, "all_rows": False}, values)
