"""Scoring of files gives the forecasts of ``predict`` on all of their rows."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.scoring import lazy_source, plan, sorted_file
from neuro_divergent.serving.scoring.score_files import score_files
from tests.unit.serving.scoring.scored_models import (
    assert_same_forecasts,
    exported,
    fit,
    known_ahead,
    read_forecasts,
    series_table,
)

RAGGED = [30, 3, 8, 50, 9, 1, 20, 40, 7, 33]


def write_files(table: pl.DataFrame, directory: Path, borders: list[int]) -> str:
    """Write a table as Parquet files that end at some rows, and return their pattern."""
    directory.mkdir(parents=True, exist_ok=True)
    edges = [0, *borders, table.height]
    for number, (first, last) in enumerate(pairwise(edges)):
        if last > first:
            table.slice(first, last - first).write_parquet(directory / f"f{number:02d}.parquet", row_group_size=17)
    return str(directory / "*.parquet")


@settings(max_examples=40)
@given(data=st.data())
def test_score_of_files_split_at_any_rows_in_any_blocks_equals_predict(
    masking: nd.Forecaster,
    masking_graph: ExportedModel,
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    lengths = data.draw(st.lists(st.integers(1, 25), min_size=1, max_size=9), label="lengths")
    table = series_table(lengths, seed=7)
    holes = data.draw(st.lists(st.integers(0, table.height - 1), max_size=12), label="holes")
    values = table["sales"].to_numpy().copy()
    values[holes] = np.nan
    table = table.with_columns(sales=values)
    gaps = data.draw(st.lists(st.integers(0, table.height - 1), max_size=5), label="gaps")
    table = table.filter(~pl.int_range(pl.len()).is_in(gaps))
    table = table.filter(pl.col("sales").is_not_nan().any().over("store"))  # predict refuses series without values
    if table.is_empty():
        return
    borders = sorted(data.draw(st.lists(st.integers(0, table.height), max_size=4), label="borders"))
    order = data.draw(st.sampled_from(["sorted", "by time", "shuffled"]), label="order")
    if order == "by time":
        table = table.sort("day", maintain_order=True)
    elif order == "shuffled":
        series = data.draw(st.permutations(table["store"].unique(maintain_order=True).to_list()), label="series")
        table = pl.concat([table.filter(pl.col("store") == name) for name in series])
    place = tmp_path_factory.mktemp("score")
    source = write_files(table, place / "in", borders)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_file, "_ROWS", data.draw(st.integers(1, 40), label="block"))
        patch.setattr(plan, "_ROWS", data.draw(st.integers(5, 60), label="part"))
        patch.setattr(lazy_source, "_ROWS", data.draw(st.integers(5, 60), label="lazy part"))
        summary = score_files(masking_graph, source, place / "out", levels=[80])
    expected = masking.predict(table, levels=[80])
    assert_same_forecasts(place / "out", expected)
    assert summary.series == expected["store"].n_unique()
    assert summary.rows == expected.height


@pytest.mark.parametrize("policy", ["interpolate", "forward", "zero", "mask"])
@pytest.mark.parametrize("wrong", ["hole", "gap"])
@pytest.mark.parametrize("borders", [[30, 60], [45]])  # files of whole series, and of parts of one
def test_score_fills_the_begin_of_a_window_from_earlier_rows(
    tmp_path: Path, policy: Any, wrong: str, borders: list[int]
) -> None:
    table = series_table([30, 30, 30])
    model = fit(table, missing=policy, gaps=policy)
    place = pl.int_range(pl.len())
    affected = (place // 30 == 2) & (place % 30).is_between(15, 24)  # Its window begins at row 22.
    if wrong == "hole":
        table = table.with_columns(sales=pl.when(affected).then(None).otherwise("sales"))
    else:
        table = table.filter(~affected)
    source = write_files(table, tmp_path / "in", borders)
    score_files(exported(model), source, tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", model.predict(table))


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_score_with_covariates_of_all_kinds_equals_predict(
    filling: nd.Forecaster, filling_graph: ExportedModel, tmp_path: Path, suffix: str
) -> None:
    table = series_table(RAGGED, covariates=True)
    ahead = known_ahead(table)
    source = write_files(table, tmp_path / "in", [41, 120])
    future = tmp_path / f"future.{suffix}"
    ahead.write_parquet(future) if suffix == "parquet" else ahead.write_csv(future)
    score_files(filling_graph, source, tmp_path / "out", future=str(future), quantiles=[0.1])
    assert_same_forecasts(tmp_path / "out", filling.predict(table, future=ahead, quantiles=[0.1]))


def test_score_without_covariates_known_ahead_names_them(filling_graph: ExportedModel, tmp_path: Path) -> None:
    source = write_files(series_table([30], covariates=True), tmp_path / "in", [])
    with pytest.raises(DataError, match="promo are needed"):
        score_files(filling_graph, source, tmp_path / "out")


def test_score_of_csv_files_with_common_and_separate_series_equals_predict(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    table = series_table(RAGGED)
    for border in (30, 45):  # between two series, and inside of one
        directory = tmp_path / str(border)
        directory.mkdir()
        table.head(border).write_csv(directory / "a.csv")
        table.slice(border).write_csv(directory / "b.csv")
        score_files(masking_graph, str(directory / "*.csv"), directory / "out")
        assert_same_forecasts(directory / "out", masking.predict(str(directory / "*.csv")))
    assert len(list((tmp_path / "30" / "out").glob("*.parquet"))) == 2


def test_score_of_csv_files_whose_ids_are_numbers_in_one_gives_text_in_all(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    table = series_table([30, 30])
    table.head(30).with_columns(store=pl.lit("7")).write_csv(tmp_path / "a.csv")
    table.slice(30).write_csv(tmp_path / "b.csv")
    score_files(masking_graph, str(tmp_path / "*.csv"), tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", masking.predict(str(tmp_path / "*.csv")))


def test_score_of_a_delta_table_and_a_lazy_frame_and_a_frame_equals_predict(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = series_table(RAGGED)
    for part in (table.head(100), table.slice(100)):
        deltalake.write_deltalake(str(tmp_path / "delta"), part, mode="append")
    expected = masking.predict(table)
    for number, source in enumerate((str(tmp_path / "delta"), table.lazy(), table.to_pandas())):
        score_files(masking_graph, source, tmp_path / str(number))
        found = read_forecasts(tmp_path / str(number)).drop("made_at", "model_version")
        assert np.allclose(found["forecast"], expected["forecast"], atol=1e-4)
        assert found["store"].equals(expected["store"])


def test_score_of_a_series_without_ids_in_several_files_equals_predict(tmp_path: Path) -> None:
    table = series_table([40]).drop("store")
    model = nd.Forecaster("nlinear", horizon=3, input_size=8, training=nd.TrainingConfig(max_steps=2))
    model.fit(table, target="sales", time="day")
    source = write_files(table, tmp_path / "in", [10, 36])
    score_files(exported(model), source, tmp_path / "out")
    found = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert np.allclose(found["forecast"], model.predict(table)["forecast"], atol=1e-4)


def test_score_of_a_joint_model_takes_all_series_at_once(tmp_path: Path) -> None:
    table = series_table([40, 40, 40]).with_columns(
        day=series_table([40] * 3)["day"].head(40).append(series_table([40])["day"]).append(series_table([40])["day"])
    )
    model = fit(table, model="tsmixer")
    source = write_files(table, tmp_path / "in", [40, 80])
    score_files(exported(model), source, tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", model.predict(table))


def test_score_with_a_series_scaler_refuses_series_that_are_not_known(tmp_path: Path) -> None:
    model = fit(series_table([30, 30]), series_scaler="standard")
    known, unknown = series_table([25, 25]), series_table([25, 25, 25])
    score_files(exported(model), write_files(known, tmp_path / "known", [25]), tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", model.predict(known))
    with pytest.raises(DataError, match="'s002' not in training data"):
        score_files(exported(model), write_files(unknown, tmp_path / "unknown", []), tmp_path / "other")


def test_score_with_short_series_dropped_in_a_whole_block_forecasts_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = series_table([3, 4, 30, 30])
    model = fit(series_table([30, 30]), short="drop")
    monkeypatch.setattr(sorted_file, "_ROWS", 8)
    with pytest.warns(UserWarning, match="left out"):
        expected = model.predict(table)
    score_files(exported(model), write_files(table, tmp_path / "in", [7]), tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", expected)


@pytest.mark.parametrize("history", ["window", "all"])
def test_score_of_a_model_that_was_not_exported_uses_its_predict(
    masking: nd.Forecaster, tmp_path: Path, history: str
) -> None:
    table = series_table(RAGGED)
    model = masking if history == "window" else nd.Ensemble([masking.clone(), masking.clone()])
    if history == "all":
        model.fit(series_table([30] * 4), target="sales", time="day", id="store", missing="mask", gaps="mask")
    score_files(model, write_files(table, tmp_path / "in", [70]), tmp_path / "out", version="v7", levels=[80])
    assert_same_forecasts(tmp_path / "out", model.predict(table, levels=[80]))
    assert read_forecasts(tmp_path / "out")["model_version"].unique().to_list() == ["v7"]


def test_score_of_a_model_in_memory_without_a_version_asks_for_it(masking: nd.Forecaster, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="version="):
        score_files(masking, series_table([20]), tmp_path / "out")


def test_score_of_a_saved_model_without_export_has_the_digest_of_its_manifest(
    masking: nd.Forecaster, tmp_path: Path
) -> None:
    masking.save(tmp_path / "model")
    table = series_table([20, 20])
    summary = score_files(tmp_path / "model", write_files(table, tmp_path / "in", []), tmp_path / "out")
    assert len(summary.model_version) == 64
    assert_same_forecasts(tmp_path / "out", masking.predict(table))


@pytest.mark.parametrize("wrong", ["hole", "gap", "twice"])
def test_score_of_wrong_rows_has_the_message_of_predict(tmp_path: Path, wrong: str) -> None:
    model = fit(series_table([30, 30]))
    table = series_table([30, 30])
    place = pl.int_range(pl.len())
    if wrong == "hole":
        table = table.with_columns(sales=pl.when(place == 57).then(None).otherwise("sales"))
    elif wrong == "gap":
        table = table.filter(place != 57)
    else:
        table = pl.concat([table, table.tail(1)])
    table.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError) as expected:
        model.predict(str(tmp_path / "a.parquet"))
    with pytest.raises(DataError) as found:
        score_files(exported(model), str(tmp_path / "a.parquet"), tmp_path / "out")
    assert str(found.value) == str(expected.value)
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_score_of_a_damaged_file_names_it_and_keeps_the_parts_before(
    masking_graph: ExportedModel, tmp_path: Path
) -> None:
    source = write_files(series_table([20, 20]), tmp_path / "in", [20])
    damaged = tmp_path / "in" / "f01.parquet"
    content = bytearray(damaged.read_bytes())
    content[30:200] = bytes(170)
    damaged.write_bytes(content)
    with pytest.raises(DataError, match=r"f01\.parquet"):
        score_files(masking_graph, source, tmp_path / "out")
    assert not (tmp_path / "out" / "summary.json").exists()


def test_score_of_an_empty_file_beside_others_leaves_it_out(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    table = series_table([20, 20])
    source = write_files(table, tmp_path / "in", [20])
    table.clear().write_parquet(tmp_path / "in" / "a.parquet")
    score_files(masking_graph, source, tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", masking.predict(table))
    table.clear().write_parquet(tmp_path / "only.parquet")
    with pytest.raises(DataError, match="no data rows"):
        score_files(masking_graph, str(tmp_path / "only.parquet"), tmp_path / "none")


def test_score_to_the_directory_of_the_data_is_refused(masking_graph: ExportedModel, tmp_path: Path) -> None:
    source = write_files(series_table([20]), tmp_path / "in", [])
    with pytest.raises(InputError, match="holds other tables"):
        score_files(masking_graph, source, tmp_path / "in")


def test_score_of_an_exported_model_imports_no_torch(masking_graph: ExportedModel, tmp_path: Path) -> None:
    modules = ("score_files", "plan", "job", "sorted_file", "lazy_source", "database", "csv_part")
    imports = "; ".join(f"import neuro_divergent.serving.scoring.{name}" for name in modules)
    code = f"import sys, json; {imports}; import neuro_divergent.serving.panel_inputs; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.lower()) is False
