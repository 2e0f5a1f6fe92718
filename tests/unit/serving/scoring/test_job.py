"""Jobs of scoring: resumed after any interruption, made as of a time, and left alone where nothing is new."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, InputError, StorageError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.scoring import sorted_file
from neuro_divergent.serving.scoring.database import SqlQuery
from neuro_divergent.serving.scoring.score_files import PartDone, score_files
from tests.unit.serving.scoring.killed_scoring import MADE_AT, LastValue, ScoringServer
from tests.unit.serving.scoring.scored_models import (
    START,
    assert_same_forecasts,
    contents,
    read_forecasts,
    series_table,
)

RAGGED = [30, 3, 8, 50, 9, 1, 20, 40, 7, 33]


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Three Parquet files."""
    table = series_table(RAGGED)
    (tmp_path / "in").mkdir()
    for number, part in enumerate((table.head(41), table.slice(41, 60), table.slice(101))):
        part.write_parquet(tmp_path / "in" / f"f{number}.parquet")
    return str(tmp_path / "in" / "*.parquet")


@pytest.fixture(scope="module")
def server() -> Iterator[ScoringServer]:
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    with ScoringServer() as running:
        yield running


def database(directory: Path, table: pl.DataFrame) -> str:
    """Write a table to SQLite, with times as text, and return its address."""
    path = directory / "shop.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sales (store TEXT, day TEXT, sales REAL)")
        rows = table.with_columns(pl.col("day").dt.to_string("%Y-%m-%d %H:%M:%S")).rows()
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{path}"


@pytest.mark.parametrize("kind", ["files", pytest.param("query", marks=pytest.mark.long)])
def test_score_killed_before_any_change_of_the_disk_and_resumed_gives_the_same_files(
    server: ScoringServer, source: str, tmp_path: Path, kind: str
) -> None:
    job: dict[str, Any] = {"source": source}
    if kind == "query":
        job = {"source": database(tmp_path, series_table(RAGGED)), "query": "SELECT * FROM sales"}
    changes = server.run(**job, output=str(tmp_path / "whole"))
    assert changes is not None
    assert changes > 8
    expected = contents(tmp_path / "whole")
    for place in range(changes):
        output = tmp_path / "killed"
        assert server.run(**job, output=str(output), dies_before=place) is None
        parts = list(output.glob("*.parquet")) if output.is_dir() else []
        assert all(expected[path.name] == path.read_bytes() for path in parts)
        assert server.run(**job, output=str(output)) is not None
        assert contents(output) == expected, place
        shutil.rmtree(output)


def test_score_resumed_keeps_finished_parts_and_the_time_of_the_first_start(source: str, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(part: PartDone) -> None:
        if part.number == 2:
            raise StopError

    with pytest.raises(StopError):
        score_files(LastValue(), source, tmp_path / "out", made_at=MADE_AT, observe=stop)
    kept = contents(tmp_path / "out")
    assert sorted(kept) == ["f0.parquet", "f1.parquet", "job.json"]
    seen: list[PartDone] = []
    score_files(LastValue(), source, tmp_path / "out", observe=seen.append)
    assert [part.was_there for part in seen] == [True, True, False]
    assert {name: content for name, content in contents(tmp_path / "out").items() if name in kept} == kept
    assert read_forecasts(tmp_path / "out")["made_at"].unique().to_list() == [MADE_AT]


@pytest.mark.parametrize("change", ["input", "model", "levels", "damaged output"])
def test_score_resumed_after_a_change_forecasts_what_changed(source: str, tmp_path: Path, change: str) -> None:
    score_files(LastValue(), source, tmp_path / "out")
    (tmp_path / "out" / "summary.json").unlink()
    model, levels = LastValue(), []
    if change == "input":
        path = tmp_path / "in" / "f1.parquet"
        pl.read_parquet(path).with_columns(pl.col("sales") + 5).write_parquet(path)
    elif change == "model":
        model = LastValue("v2")
    elif change == "levels":
        levels = [80]
    else:
        path = tmp_path / "out" / "f1.parquet"
        path.write_bytes(path.read_bytes()[:-20])
    seen: list[PartDone] = []
    score_files(model, source, tmp_path / "out", levels=levels, observe=seen.append)
    again = [not part.was_there for part in seen]
    assert again == ([False, True, False] if change in ("input", "damaged output") else [True] * 3)
    score_files(model, source, tmp_path / "fresh", levels=levels)
    found, expected = (read_forecasts(tmp_path / name).drop("made_at") for name in ("out", "fresh"))
    assert_frame_equal(found, expected)


def test_score_after_a_file_of_the_source_is_gone_removes_its_forecasts(source: str, tmp_path: Path) -> None:
    score_files(LastValue(), source, tmp_path / "out")
    (tmp_path / "in" / "f2.parquet").unlink()
    summary = score_files(LastValue(), source, tmp_path / "out")
    assert {part["name"] for part in summary.parts} == {path.name for path in (tmp_path / "out").glob("*.parquet")}


@pytest.mark.parametrize("how", ["files", "by time", "csv", "lazy", "query"])
def test_score_as_of_a_time_equals_predict_on_the_rows_until_then(
    masking: nd.Forecaster, masking_graph: ExportedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(sorted_file, "_ROWS", 16)
    table = series_table(RAGGED)
    time = START + timedelta(days=40)
    (tmp_path / "in").mkdir()
    source: Any = str(tmp_path / "in" / "*")
    if how == "lazy":
        source = table.lazy()
    elif how == "query":
        source = SqlQuery("SELECT * FROM sales;", database(tmp_path, table))
    elif how == "csv":
        table.write_csv(tmp_path / "in" / "a.csv")
    else:
        given = table.sort("day", maintain_order=True) if how == "by time" else table
        given.head(100).write_parquet(tmp_path / "in" / "a.parquet")
        given.slice(100).write_parquet(tmp_path / "in" / "b.parquet")
    score_files(masking_graph, source, tmp_path / "out", as_of=time.isoformat(" "))
    expected = masking.predict(table.filter(pl.col("day") <= time))
    assert expected["store"].n_unique() < len(RAGGED)
    assert_same_forecasts(tmp_path / "out", expected)


def test_score_as_of_a_time_before_all_rows_or_of_another_kind_is_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no series to forecast"):
        score_files(LastValue(), source, tmp_path / "out", as_of="2020-01-01")
    with pytest.raises(DataError, match="as_of: 17 is not a time of column 'day'"):
        score_files(LastValue(), source, tmp_path / "other", as_of=17)


@pytest.mark.parametrize("kind", ["files", "frame", "query", "delta"])
def test_score_if_newer_leaves_forecasts_alone_until_data_or_model_change(
    source: str, tmp_path: Path, kind: str
) -> None:
    table = series_table(RAGGED)
    given: Any = source
    if kind == "frame":
        given = table
    elif kind == "query":
        given = SqlQuery("SELECT * FROM sales", database(tmp_path, table))
    elif kind == "delta":
        deltalake = pytest.importorskip("deltalake")
        given = str(tmp_path / "delta")
        deltalake.write_deltalake(given, table)
    score_files(LastValue(), given, tmp_path / "out", made_at=MADE_AT)
    before = contents(tmp_path / "out")
    summary = score_files(LastValue(), given, tmp_path / "out", if_newer=True)
    assert (summary.is_new, summary.series) == (False, len(RAGGED))
    after = contents_without_snapshots(tmp_path / "out")
    assert after == before

    changed = table.with_columns(pl.col("sales") + 5)
    if kind == "files":
        changed.head(41).write_parquet(tmp_path / "in" / "f0.parquet")
    elif kind == "frame":
        given = changed
    elif kind == "query":
        database(tmp_path, changed)
    else:
        deltalake.write_deltalake(given, changed, mode="overwrite")
    assert score_files(LastValue(), given, tmp_path / "out", if_newer=True).is_new
    assert contents_without_snapshots(tmp_path / "out") != before
    assert score_files(LastValue("v2"), given, tmp_path / "out", if_newer=True).is_new


def contents_without_snapshots(directory: Path) -> dict[str, bytes]:
    """Return the files of a directory; rows of queries are not kept after a job."""
    assert not list(directory.glob(".snapshot-*"))
    return contents(directory)


def test_score_again_without_if_newer_makes_new_forecasts(source: str, tmp_path: Path) -> None:
    score_files(LastValue(), source, tmp_path / "out", made_at=MADE_AT)
    seen: list[PartDone] = []
    score_files(LastValue(), source, tmp_path / "out", observe=seen.append, made_at=MADE_AT + timedelta(days=1))
    assert not any(part.was_there for part in seen)
    made = read_forecasts(tmp_path / "out")["made_at"].unique().to_list()
    assert made == [MADE_AT + timedelta(days=1)]


def test_score_on_a_full_disk_leaves_complete_files_only_and_resumes(source: str, tmp_path: Path) -> None:
    score_files(LastValue(), source, tmp_path / "whole", made_at=MADE_AT)
    expected = contents(tmp_path / "whole")
    largest = max(len(content) for content in expected.values())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest - 1, limits[1]))
        with pytest.raises(StorageError):
            score_files(LastValue(), source, tmp_path / "out", made_at=MADE_AT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    left = contents(tmp_path / "out")
    assert all(expected[name] == content for name, content in left.items())
    assert "summary.json" not in left
    score_files(LastValue(), source, tmp_path / "out")
    assert contents(tmp_path / "out") == expected


def test_score_interrupted_by_ctrl_c_leaves_complete_files_only(source: str, tmp_path: Path) -> None:
    def interrupt(part: PartDone) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_files(LastValue(), source, tmp_path / "out", made_at=MADE_AT, observe=interrupt)
    assert sorted(contents(tmp_path / "out")) == ["f0.parquet", "job.json"]


def test_score_while_another_process_writes_there_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with RunLock(tmp_path / "out" / ".lock"), pytest.raises(InputError, match="process"):
        score_files(LastValue(), source, tmp_path / "out")


def test_score_writes_a_summary_of_all_parts(source: str, tmp_path: Path) -> None:
    summary = score_files(LastValue(), source, tmp_path / "out", made_at=MADE_AT)
    written = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert written["series"] == summary.series == len(RAGGED)
    assert written["rows"] == summary.rows == read_forecasts(tmp_path / "out").height
    assert datetime.fromisoformat(written["made_at"]) == MADE_AT
    assert written["model_version"] == "v1"
    files = {path.name: pl.read_parquet(path) for path in (tmp_path / "out").glob("*.parquet")}
    assert {part["name"]: part["rows"] for part in written["parts"]} == {
        name: frame.height for name, frame in files.items()
    }


def test_query_that_fails_or_has_no_rows_says_so_without_the_password(tmp_path: Path) -> None:
    address = database(tmp_path, series_table([20]))
    with pytest.raises(DataError, match="no such table: absent"):
        score_files(LastValue(), SqlQuery("SELECT * FROM absent", address), tmp_path / "out")
    with pytest.raises(DataError, match="no data rows"):
        score_files(LastValue(), SqlQuery("SELECT * FROM sales WHERE 1 = 0", address), tmp_path / "out")
    assert "secret" not in str(SqlQuery("SELECT 1", "postgresql://me:secret@host/shop"))
    score_files(LastValue(), SqlQuery("SELECT * FROM sales", address), tmp_path / "out")
    assert "sqlite" not in (tmp_path / "out" / "job.json").read_text()
