"""A model that is saved without context holds nothing that tells a series of the training data."""

from __future__ import annotations

import itertools
import json
import re
import struct
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.core.storage.tensor_file import load_tensors
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.windows import Windows

TRAINING = nd.TrainingConfig(max_steps=2, threads=1)
ROWS, HISTORY, HORIZON = 40, 8, 3
names = st.lists(
    # The mark keeps an id from being found by coincidence, as one that is a few digits would be.
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12).map("id~".__add__),
    min_size=2,
    max_size=3,
    unique=True,
)


def table(ids: list[Any], seed: int = 0, rows: int = ROWS) -> pl.DataFrame:
    """Return series of irregular numbers, with a covariate of such."""
    generator = np.random.default_rng(seed)
    times = [date(2031, 5, 7) + timedelta(days=day) for day in range(rows)]
    columns = [
        pl.Series("unique_id", [name for name in ids for _ in range(rows)]),
        pl.Series("ds", times * len(ids)),
        pl.Series("y", (50 + 10 * generator.standard_normal(len(ids) * rows)).astype(np.float32)),
        pl.Series("price", (5 + generator.standard_normal(len(ids) * rows)).astype(np.float32)),
    ]
    return pl.DataFrame(columns)


def forecaster(**task: Any) -> nd.Forecaster:
    task = {"horizon": HORIZON, "input_size": HISTORY, "series_scaler": "standard", **task}
    return nd.Forecaster(nd.NHITS(hidden_size=8), training=TRAINING, **task)


def stored_bytes(path: Path) -> bytes:
    return b"\0".join(item.read_bytes() for item in sorted(path.iterdir()))


def traces(path: Path, frame: pl.DataFrame) -> list[Any]:
    """Return ids, values and times of a table that are found in the files of a model, as text or as numbers."""
    content = stored_bytes(path)
    found: list[Any] = []
    for name in frame["unique_id"].unique().to_list():
        spellings = (str(name), json.dumps(name, ensure_ascii=False).strip('"'), json.dumps(name).strip('"'))
        found += [name] if any(spelling.encode() in content for spelling in spellings) else []
    start = frame["ds"].min()
    number = pl.Series([start]).to_physical()[0]
    found += [start] if str(start).encode() in content or re.search(rb"(?<![\d.])%d(?!\d)" % number, content) else []
    for column in ("y", "price"):
        values = frame[column].to_list()
        found += [value for value in values if struct.pack("<d", value) in content or repr(value).encode() in content]
        # One number of 32 bits may be a coincidence, two in a row are not.
        found += [pair for pair in itertools.pairwise(values) if struct.pack("<2f", *pair) in content]
    tensors = (load_tensors(file.read_bytes(), "x") for file in path.glob("*.safetensors"))
    numbers = {value for group in tensors for tensor in group.values() for value in tensor.double().flatten().tolist()}
    return [*found, *(value for value in frame["y"].to_list() if value in numbers)]


@settings(max_examples=10, deadline=None)
@given(ids=names, seed=st.integers(0, 1000))
def test_no_id_value_or_time_of_the_data_is_in_the_files_of_a_model_without_context(ids: list[str], seed: int) -> None:
    frame = table(ids, seed)
    model = forecaster().fit(frame, past=["price"])
    with tempfile.TemporaryDirectory() as directory:
        model.save(Path(directory) / "bare", context=False)
        assert traces(Path(directory) / "bare", frame) == []
        model.save(Path(directory) / "whole")
        assert len(traces(Path(directory) / "whole", frame)) > len(ids) * HISTORY


def test_no_id_value_or_time_is_in_the_files_of_ensembles_and_calibrated_models_without_context(tmp_path: Path) -> None:
    frame = table(["north-7731", "south-8842"])
    for model in (nd.Ensemble.seeds(forecaster(), 2), nd.Conformal(forecaster())):
        path = tmp_path / type(model).__name__
        model.fit(frame, past=["price"]).save(path, context=False)
        assert traces(path, frame) == []


def test_hint_without_context_holds_the_names_of_its_nodes_and_no_value_or_error(tmp_path: Path) -> None:
    parts = table(["north-7731", "south-8842"]).drop("price")
    tree = nd.Hierarchy.from_columns(parts.select("unique_id").unique(maintain_order=True), [])
    frame = tree.aggregate_table(parts)
    model = nd.HINT(forecaster(), tree).fit(frame)
    model.save(tmp_path / "bare", context=False)
    content = stored_bytes(tmp_path / "bare")
    named = set(frame["unique_id"].unique())
    assert set(traces(tmp_path / "bare", frame.with_columns(pl.col("y").cast(pl.Float32), price=pl.col("y")))) == named
    assert model.errors is not None
    assert not any(struct.pack("<d", value) in content for value in model.errors.values.reshape(-1).tolist())
    bare = nd.HINT.load(tmp_path / "bare")
    assert bare.errors is not None
    np.testing.assert_allclose(bare.predict(frame)["forecast"], model.predict(frame)["forecast"], rtol=0.2)


def test_series_scaler_without_context_is_fitted_to_the_given_series(tmp_path: Path) -> None:
    frame = table(["a", "b"])
    model = forecaster().fit(frame, past=["price"])
    model.save(tmp_path / "bare", context=False)
    bare = nd.Forecaster.load(tmp_path / "bare")
    assert bare.fitted.scaler_params is None
    other = table(["c", "d", "e"], seed=1).with_columns(pl.col("y") * 1000)
    with pytest.raises(DataError, match="series 'c' not in training data"):
        model.predict(other)
    forecasts = bare.predict(other)
    assert forecasts["unique_id"].unique().sort().to_list() == ["c", "d", "e"]
    # A standard scaler by series makes the network blind to the unit of the data.
    plain = bare.predict(other.with_columns(pl.col("y") / 1000))
    np.testing.assert_allclose(forecasts["forecast"], plain["forecast"] * 1000, rtol=1e-3)


def test_windows_without_context_are_scaled_by_what_came_before_the_first_target(tmp_path: Path) -> None:
    frame = table(["a", "b"])
    forecaster().fit(frame, past=["price"]).save(tmp_path / "bare", context=False)
    bare = nd.Forecaster.load(tmp_path / "bare")

    def forecasts(source: pl.DataFrame) -> Any:
        panel = build_panel(source, bare.schema)
        ends = panel.offsets[1:]
        return bare.forecast_windows(Windows(panel, HISTORY, HORIZON, ends - HORIZON, ends)).point

    last = pl.int_range(pl.len()).over("unique_id") >= ROWS - HORIZON
    changed = frame.with_columns(pl.when(last).then(pl.col("y") * 50).otherwise(pl.col("y")).alias("y"))
    np.testing.assert_array_equal(forecasts(changed), forecasts(frame))


def test_model_of_all_series_at_once_without_context_takes_as_many_series(tmp_path: Path) -> None:
    frame = table(["a", "b"]).drop("price")
    model = nd.Forecaster("tsmixer", horizon=HORIZON, input_size=HISTORY, training=TRAINING).fit(frame)
    model.save(tmp_path / "bare", context=False)
    bare = nd.load(tmp_path / "bare")
    assert bare.predict(frame).equals(model.predict())
    with pytest.raises(DataError, match="forecasts 2 series at once, and the data have 3"):
        bare.predict(table(["a", "b", "c"]).drop("price"))


def test_holds_lists_what_of_the_data_is_in_a_model_with_and_without_context(tmp_path: Path) -> None:
    frame = table(["a", "b"]).with_columns(kind=pl.col("unique_id") + "-kind")
    model = forecaster().fit(frame, past=["price"], static=["kind"])
    assert model.holds["series"] == "ids, times and the last 8 rows of 2 series"
    model.save(tmp_path / "bare", context=False)
    bare = nd.load(tmp_path / "bare")
    assert set(model.holds) - set(bare.holds) == {"series", "scaler_params", "target_range"}
    assert bare.holds["categories"] == "values of kind"
    assert bare.holds["covariate_scaling"] == "mean and standard deviation over all series of price, kind"


def test_intervals_without_context_are_quantiles_of_the_errors(tmp_path: Path) -> None:
    frame = table(["a", "b"], rows=1000)
    model = forecaster(series_scaler=None).fit(frame, past=["price"])
    model.save(tmp_path / "bare", context=False)
    bare = nd.Forecaster.load(tmp_path / "bare")
    errors, summary = model.fitted.predictor.intervals, bare.fitted.predictor.intervals
    assert errors is not None
    assert summary is not None
    assert (len(errors.errors), len(summary.errors)) == (396, 199)
    tables = model.predict(levels=[90]), bare.predict(frame, levels=[90])
    wide = [found["hi-90"] - found["lo-90"] for found in tables]
    np.testing.assert_allclose(wide[0], wide[1], rtol=0.05)


def test_explain_and_simulate_without_context_need_data_too(tmp_path: Path) -> None:
    frame = table(["a", "b"])
    forecaster().fit(frame, past=["price"]).save(tmp_path / "bare", context=False)
    bare = nd.Forecaster.load(tmp_path / "bare")
    with pytest.raises(InputError, match="pass them as data"):
        bare.simulate(3)
    assert bare.simulate(3, data=frame).height == 3 * 2 * HORIZON
