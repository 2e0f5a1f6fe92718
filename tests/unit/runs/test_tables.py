import os
import subprocess
import sys
from datetime import date, datetime

import polars as pl
import pytest

from neuro_divergent.runs.tables import RunTables
from tests.unit.reporting.run_files import NAMES, write_run

PROPERTIES = (
    "config", "history", "layers", "processes", "forecasts", "context", "backtest", "scores", "calibration", "network",
    "diagnosis", "data", "environment",
)  # fmt: skip
FILES = (
    "config.toml", "events.jsonl", "forecasts.csv", "context.parquet", "backtest.parquet", "scores.json",
    "calibration.json", "network.json", "diagnosis.json", "data.json", "environment.json",
)  # fmt: skip


def test_all_tables_of_a_run_are_read(tmp_path):
    tables = RunTables(write_run(tmp_path / "run"))
    assert (tables.id, tables.time, tables.target, tables.model) == ("store", "when", "units", "nhits")
    assert all(getattr(tables, name) is not None for name in PROPERTIES)
    assert tables.history is not None
    assert tables.history["validation_loss"].to_list() == [0.2, 0.1, 2 / 30]
    assert tables.layers is not None
    assert tables.layers.columns == ["step", "layer", "gradient", "weight", "update"]
    assert tables.history is tables.history


def test_forecasts_have_the_types_of_the_context(tmp_path):
    tables = RunTables(str(write_run(tmp_path / "run")))
    assert tables.forecasts is not None
    assert tables.context is not None
    assert tables.forecasts.schema["when"] == tables.context.schema["when"]
    assert tables.forecasts["store"].to_list() == [NAMES[0]] * 2 + [NAMES[1]] * 2  # with their leading zeros
    assert tables.forecasts["when"][0] == datetime(2024, 1, 1, 13)
    assert tables.forecasts["lo-80"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("times", "dtype"),
    [
        (pl.Series([1, 2]), pl.Int64()),
        (pl.Series([date(2024, 1, 1), date(2024, 1, 2)]), pl.Date()),
        (pl.Series([datetime(2024, 1, 1, 5), datetime(2024, 7, 1)]), pl.Datetime("ns")),
        (pl.Series([datetime(2024, 1, 1, 5), datetime(2024, 7, 1)]), pl.Datetime("us", "Europe/Berlin")),
    ],
    ids=["number", "date", "datetime", "zone"],
)
@pytest.mark.parametrize("known", [True, False])
def test_times_of_every_kind_come_back(tmp_path, times, dtype, known):
    frame = pl.DataFrame({"ds": times.cast(dtype), "forecast": [1.0, 2.0]})
    frame.write_csv(tmp_path / "forecasts.csv")
    if known:
        frame.select("ds", pl.lit(1.0).alias("y")).write_parquet(tmp_path / "context.parquet")
    read = RunTables(tmp_path).forecasts
    assert read is not None
    assert read["ds"].to_list() == frame["ds"].to_list()
    if known:
        assert read.schema["ds"] == dtype


def test_a_run_without_an_id_has_the_usual_one_or_none(tmp_path):
    pl.DataFrame({"unique_id": ["a"], "ds": [1], "y": [1.0]}).write_parquet(tmp_path / "context.parquet")
    assert RunTables(tmp_path).id == "unique_id"
    pl.DataFrame({"ds": [1], "y": [1.0]}).write_parquet(tmp_path / "context.parquet")
    assert RunTables(tmp_path).id is None


def test_tables_of_a_missing_directory_are_none(tmp_path):
    tables = RunTables(tmp_path / "none")
    assert [getattr(tables, name) for name in PROPERTIES] == [None] * len(PROPERTIES)
    assert (tables.id, tables.time, tables.target, tables.model) == (None, "ds", "y", "model")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1, 2]", b"PAR1" * 4, b"\xff\xfe\x00", b"a,b\n1\n", b'{"event":"row",}']
)
def test_damaged_files_are_none(tmp_path, content):
    for name in FILES:
        (tmp_path / name).write_bytes(content)
    tables = RunTables(tmp_path)
    for name in PROPERTIES:
        value = getattr(tables, name)
        assert value is None or name == "forecasts" or (name == "config" and not value)


def test_truncated_table_is_none(tmp_path):
    run = write_run(tmp_path / "run")
    for name in ("backtest.parquet", "context.parquet"):
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[: len(content) // 2])
    tables = RunTables(run)
    assert tables.backtest is None
    assert tables.context is None
    assert tables.forecasts is not None  # whose times are then what they look like
    assert tables.forecasts["when"][0] == datetime(2024, 1, 1, 13)


def test_links_and_pipes_are_not_followed(tmp_path):
    run = write_run(tmp_path / "run")
    for name in FILES:
        (run / name).rename(tmp_path / name)
        if name.endswith(".json"):
            os.mkfifo(run / name)
        else:
            (run / name).symlink_to(tmp_path / name)
    tables = RunTables(run)
    assert [getattr(tables, name) for name in PROPERTIES] == [None] * len(PROPERTIES)


def test_reading_needs_neither_torch_nor_plotly():
    code = (
        "import sys; import neuro_divergent.reporting.run_figures, neuro_divergent.reporting.plots; "
        "import neuro_divergent.reporting.figures.comparison, neuro_divergent.reporting.figures.folds; "
        "import neuro_divergent.reporting.figures.schedule; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'plotly')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_of_a_series_are_those_of_the_tables(tmp_path):
    tables = RunTables(write_run(tmp_path / "run"))
    assert tables.series.to_list() == list(NAMES)
    for name in NAMES:
        rows = tables.rows_of(name)
        for found, whole in zip(rows, (tables.context, tables.forecasts, tables.backtest), strict=True):
            assert found is not None
            assert found.equals(whole.filter(store=name))
    assert RunTables(tmp_path / "run").rows_of("not there") == (None, None, None)


def test_forecasts_of_many_series_are_read_from_their_own_file(tmp_path):
    run = write_run(tmp_path / "run")
    before = RunTables(run).forecasts
    assert RunTables(run).forecasts_file == "forecasts.csv"
    before.with_columns(pl.col("forecast") + 1).write_parquet(run / "forecasts.parquet")
    tables = RunTables(run)
    assert tables.forecasts_file == "forecasts.parquet"
    assert tables.forecasts["forecast"].to_list() == [value + 1 for value in before["forecast"]]
    assert tables.rows_of(NAMES[1]).forecasts["forecast"].to_list() == [value + 1 for value in before["forecast"][2:4]]


def test_series_are_found_without_reading_the_other_columns(tmp_path, monkeypatch):
    run = write_run(tmp_path / "run")
    monkeypatch.setattr("neuro_divergent.runs.tables._MOST_TABLE", 100)  # bytes of a table that is read as a whole
    tables = RunTables(run)
    assert tables.context is None
    assert tables.backtest is None
    assert tables.series.to_list() == list(NAMES)
    assert tables.rows_of(NAMES[0]).context["units"].len() > 0
