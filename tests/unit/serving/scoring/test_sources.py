"""Sources of every kind of time and layout give the forecasts of ``predict``."""

from __future__ import annotations

import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, DataWarning, InputError
from neuro_divergent.serving.export.exporter import export_model
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.panel_inputs import forecast_table
from neuro_divergent.serving.scoring.plan import Planner
from neuro_divergent.serving.scoring.score_files import score_files
from neuro_divergent.serving.scoring.scorer import ExportedScorer, Request
from neuro_divergent.serving.scoring.sorted_file import SortedFilePart
from tests.unit.serving.scoring.scored_models import (
    assert_same_forecasts,
    exported,
    fit,
    known_ahead,
    series_table,
)

LENGTHS = [40, 25, 9, 33, 12, 40]
TIMES: dict[str, Any] = {
    "dates": pl.date_range(date(2024, 1, 1), date(2024, 3, 1), "1d", eager=True),
    "business days": pl.date_range(date(2024, 1, 1), date(2024, 6, 1), "1d", eager=True),
    "month begins": pl.date_range(date(2019, 1, 1), date(2024, 1, 1), "1mo", eager=True),
    "month ends": pl.date_range(date(2019, 1, 31), date(2024, 1, 31), "1mo", eager=True),
    "zoned days": pl.datetime_range(
        datetime(2024, 3, 1), datetime(2024, 4, 20), "1d", time_zone="Europe/Berlin", eager=True
    ),
    "milliseconds": pl.datetime_range(datetime(2024, 1, 1), datetime(2024, 1, 1, 1), "1m", time_unit="ms", eager=True),
    "integers": pl.int_range(0, 300, 5, eager=True),
}


def table_with(times: pl.Series, kind: str) -> pl.DataFrame:
    """Return ragged series with other times, that end at different ones."""
    times = times.filter(times.dt.weekday() <= 5) if kind == "business days" else times
    frames = []
    for number, frame in enumerate(series_table(LENGTHS).partition_by("store", maintain_order=True)):
        own = times.slice(len(times) - frame.height - number % 3, frame.height)
        frames.append(frame.with_columns(day=own))
    return pl.concat(frames)


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("layout", ["by series", "by time"])
def test_score_with_times_of_any_kind_in_any_layout_equals_predict(kind: str, layout: str, tmp_path: Path) -> None:
    table = table_with(TIMES[kind], kind)
    model = fit(table)
    given = table if layout == "by series" else table.sort("day", maintain_order=True)
    (tmp_path / "in").mkdir()
    for number, part in enumerate(given.iter_slices(45)):
        part.write_parquet(tmp_path / "in" / f"{number}.parquet", row_group_size=20)
    score_files(exported(model), str(tmp_path / "in" / "*.parquet"), tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", model.predict(table))


def test_score_of_rows_out_of_time_order_equals_predict(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    table = series_table(LENGTHS).sample(fraction=1.0, shuffle=True, seed=3)
    table.head(80).write_parquet(tmp_path / "a.parquet")
    table.slice(80).write_parquet(tmp_path / "b.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        expected = masking.predict(table)
    score_files(masking_graph, str(tmp_path / "*.parquet"), tmp_path / "out")
    assert_same_forecasts(tmp_path / "out", expected)


def test_score_of_categorical_and_integer_ids_equals_predict(tmp_path: Path) -> None:
    table = series_table(LENGTHS)
    for name, dtype in (("categorical", pl.Categorical), ("integer", pl.Int32)):
        ids = pl.col("store") if name == "categorical" else pl.col("store").str.slice(1)
        other = table.with_columns(store=ids.cast(dtype))
        model = fit(other)
        (tmp_path / name).mkdir()
        for number, part in enumerate(other.iter_slices(65)):
            part.write_parquet(tmp_path / name / f"{number}.parquet")
        score_files(exported(model), str(tmp_path / name / "*.parquet"), tmp_path / f"{name}-out")
        expected = model.predict(table.with_columns(store=ids.cast(pl.String if name == "categorical" else dtype)))
        assert_same_forecasts(tmp_path / f"{name}-out", expected)


def test_score_of_an_address_that_polars_scans_equals_predict(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    table = series_table(LENGTHS)
    table.write_parquet(tmp_path / "a.parquet")
    table.write_csv(tmp_path / "a.csv")
    for name in ("a.parquet", "a.csv"):
        score_files(masking_graph, (tmp_path / name).as_uri(), tmp_path / f"{name}-out")
        assert_same_forecasts(tmp_path / f"{name}-out", masking.predict(table))


def test_score_of_a_wide_table_is_read_as_in_training_and_equals_predict(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path
) -> None:
    table = series_table(LENGTHS)
    wide = table.pivot(on="store", index="day", values="sales").sort("day")
    wide.write_csv(tmp_path / "wide.csv", separator=";")
    wide.write_parquet(tmp_path / "wide.parquet")
    table.write_ndjson(tmp_path / "long.jsonl")
    trained = fit(wide, missing="mask", gaps="mask", wide=True)
    graph = exported(trained)
    assert graph.description.reading == {"wide": True}
    for name, given, model in (
        ("wide.csv", graph, trained),
        ("wide.parquet", graph, trained),
        ("long.jsonl", masking_graph, masking),
    ):
        score_files(given, str(tmp_path / name), tmp_path / f"{name}-out")
        assert_same_forecasts(tmp_path / f"{name}-out", model.predict(wide if model is trained else table))


def test_score_of_parquet_with_numbers_that_mean_a_missing_value_equals_predict(tmp_path: Path) -> None:
    table = pl.DataFrame({"ds": range(40), "y": [*(float(step % 4) for step in range(39)), -999.0]})
    table.write_parquet(tmp_path / "a.parquet")
    model = nd.Statistical("seasonal_naive", horizon=4, season_length=4)
    model.fit(table, null_values="-999", missing="interpolate")
    score_files(model, str(tmp_path / "a.parquet"), tmp_path / "out", version="1")
    assert pl.read_parquet(tmp_path / "out" / "*.parquet")["forecast"].to_list() == [0.0, 1.0, 2.0, 2.0]


def test_plan_of_sorted_files_reads_ids_at_their_ends_only(masking_graph: ExportedModel, tmp_path: Path) -> None:
    table = series_table(LENGTHS)
    table.head(74).write_parquet(tmp_path / "a.parquet")
    table.slice(74).write_parquet(tmp_path / "b.parquet")
    parts = Planner(ExportedScorer(masking_graph, Request())).plan(str(tmp_path / "*.parquet"))
    assert [type(part) for part in parts] == [SortedFilePart, SortedFilePart]
    assert [part.name for part in parts] == ["a", "b"]


@pytest.mark.parametrize("wrong", ["column", "kind", "pattern"])
def test_score_of_a_source_that_cannot_be_used_names_it(
    masking_graph: ExportedModel, tmp_path: Path, wrong: str
) -> None:
    table = series_table(LENGTHS)
    if wrong == "column":
        table.drop("sales").write_parquet(tmp_path / "a.parquet")
    elif wrong == "kind":
        (tmp_path / "a.pdf").write_bytes(b"x")
    messages = {"column": "column 'sales' missing", "kind": "unknown kind of file", "pattern": "not found"}
    with pytest.raises(DataError, match=messages[wrong]):
        score_files(masking_graph, str(tmp_path / "a.*"), tmp_path / "out")


@pytest.mark.parametrize("missing", [False, True])
def test_forecast_table_equals_predict_in_columns_types_and_values(
    filling: nd.Forecaster, filling_graph: ExportedModel, missing: bool
) -> None:
    table = series_table(LENGTHS, covariates=True)
    ahead = known_ahead(table)
    if missing:
        holes = pl.int_range(pl.len()) % 7 == 3
        table = table.with_columns(
            pl.when(holes).then(None).otherwise(pl.col("sales", "price", "region")).name.keep(),
        )
    found = forecast_table(filling_graph, table, future=ahead, levels=[80], quantiles=[0.9], horizon=2)
    expected = filling.predict(table, future=ahead, levels=[80], quantiles=[0.9], horizon=2)
    assert found.schema == expected.schema
    assert_frame_equal(found, expected, rel_tol=1e-4, abs_tol=1e-4)


def test_forecast_table_of_quantiles_and_steps_that_the_graph_lacks_says_what_it_has(
    masking_graph: ExportedModel,
) -> None:
    table = series_table([20])
    with pytest.raises(InputError, match="level 95 is not in the exported model"):
        forecast_table(masking_graph, table, levels=[95])
    with pytest.raises(InputError, match="forecasts 1 to 3"):
        forecast_table(masking_graph, table, horizon=4)


def test_forecast_table_with_a_changed_policy_equals_predict_with_it(masking_graph: ExportedModel) -> None:
    table = series_table([3, 30])
    with pytest.raises(DataError, match="3 rows, needs 8"):
        forecast_table(masking_graph, table, changes={"short": "error"})


@pytest.mark.long
def test_score_of_an_exported_file_equals_predict(masking: nd.Forecaster, tmp_path: Path) -> None:
    table = series_table(LENGTHS)
    masking.save(tmp_path / "sales")
    digest = score_files(tmp_path / "sales", table, tmp_path / "torch").model_version
    export_model(masking, tmp_path / "sales.onnx", levels=[80], digest=digest)
    for name in ("sales", "sales.onnx"):
        summary = score_files(tmp_path / name, table, tmp_path / f"{name}-out", levels=[80])
        assert summary.model_version == digest
        assert_same_forecasts(tmp_path / f"{name}-out", masking.predict(table, levels=[80]))
