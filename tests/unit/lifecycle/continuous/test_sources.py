"""Sources of rows: files, SQL queries and Delta tables."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError, StorageError
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.continuous.sources.base import Source
from neuro_divergent.lifecycle.continuous.sources.delta import Delta
from neuro_divergent.lifecycle.continuous.sources.files import Files
from neuro_divergent.lifecycle.continuous.sources.sql import Sql

SCHEMA = Schema()


def rows(first: int, count: int, series: str = "a", value: float = 0.0) -> pl.DataFrame:
    """Return hourly rows of one series."""
    begin = datetime(2026, 1, 1)
    return pl.DataFrame(
        {
            "unique_id": [series] * count,
            "ds": [begin + timedelta(hours=first + hour) for hour in range(count)],
            "y": [value + first + hour for hour in range(count)],
        }
    )


def test_files_are_read_once_and_again_only_if_their_content_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows(0, 5).write_parquet(path)
    source = Files(path=str(tmp_path / "*.parquet"))
    first = source.poll(None, SCHEMA)
    assert first is not None
    assert first.rows.height == 5
    assert source.poll(first.position, SCHEMA) is None
    os.utime(path, (1, 1))  # touched, the same content
    assert source.poll(first.position, SCHEMA) is None
    rows(0, 6).write_parquet(path)
    rows(0, 2, "b").write_parquet(tmp_path / "b.parquet")
    second = source.poll(first.position, SCHEMA)
    assert second is not None
    assert second.rows.height == 8
    assert source.poll(second.position, SCHEMA) is None


def test_files_of_csv_and_without_ids_become_one_series_with_parsed_times(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("day,units,extra\n2026-01-01,1,x\n2026-01-02,2,y\n")
    found = Files(path=str(tmp_path / "sales.csv")).poll(None, Schema(target="units", time="day"))
    assert found is not None
    assert found.rows.columns == ["unique_id", "day", "units"]
    assert found.rows["unique_id"].to_list() == ["units", "units"]
    assert found.rows.schema["day"].is_temporal()


def test_files_that_have_just_changed_wait_until_they_settle(tmp_path: Path) -> None:
    rows(0, 5).write_parquet(tmp_path / "a.parquet")
    assert Files(path=str(tmp_path / "*.parquet"), settle=3600).poll(None, SCHEMA) is None


def test_files_that_do_not_exist_are_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file matches"):
        Files(path=str(tmp_path / "*.parquet")).poll(None, SCHEMA)


def test_of_two_files_with_the_same_row_the_later_name_counts(tmp_path: Path) -> None:
    rows(0, 2).write_parquet(tmp_path / "1.parquet")
    rows(1, 1, value=100).write_parquet(tmp_path / "2.parquet")
    found = Files(path=str(tmp_path / "*.parquet")).poll(None, SCHEMA)
    assert found is not None
    assert sorted(found.rows["y"].to_list()) == [0.0, 101.0]


def sqlite_with(path: Path, table: pl.DataFrame) -> Sql:
    """Return a source over a SQLite table whose watermark is a serial number."""
    import sqlalchemy as sa

    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(
            sa.text("CREATE TABLE IF NOT EXISTS sales (serial INTEGER, unique_id TEXT, ds TEXT, y REAL)")
        )
        for row in table.iter_rows(named=True):
            connection.execute(
                sa.text("INSERT INTO sales VALUES (:serial, :unique_id, :ds, :y)"), {**row, "ds": row["ds"].isoformat()}
            )
    engine.dispose()
    return Sql(address=f"sqlite:///{path}", query="SELECT * FROM sales;", watermark="serial")


def numbered(table: pl.DataFrame, first: int) -> pl.DataFrame:
    return table.with_columns(pl.int_range(first, first + pl.len()).alias("serial"))


def test_a_query_gives_rows_from_the_watermark_on(tmp_path: Path) -> None:
    source = sqlite_with(tmp_path / "shop.db", numbered(rows(0, 5), 1))
    first = source.poll(None, SCHEMA)
    assert first is not None
    assert first.position["value"] == 5
    assert first.rows.columns == ["unique_id", "ds", "y"]
    again = source.poll(first.position, SCHEMA)
    assert again is not None  # the row with the last watermark is read again, as others may have the same
    assert again.rows.height == 1
    assert source.poll(again.position, SCHEMA) is None
    source = sqlite_with(tmp_path / "shop.db", numbered(rows(5, 3), 5))
    later = source.poll(again.position, SCHEMA)
    assert later is not None
    assert later.rows.height == 4  # a second row with watermark 5 is not lost
    assert later.position["value"] == 7


def test_a_query_without_its_watermark_or_with_wrong_sql_is_a_clear_error(tmp_path: Path) -> None:
    source = sqlite_with(tmp_path / "shop.db", numbered(rows(0, 2), 1))
    with pytest.raises(DataError, match="no column 'changed'"):
        source.replace(watermark="changed").poll(None, SCHEMA)
    with pytest.raises(StorageError, match="no such table"):
        source.replace(query="SELECT * FROM absent").poll(None, SCHEMA)


def test_a_delta_table_is_read_again_when_its_version_changes(tmp_path: Path) -> None:
    table = tmp_path / "table"
    rows(0, 5).write_delta(str(table))
    source = Delta(path=str(table))
    first = source.poll(None, SCHEMA)
    assert first is not None
    assert first.rows.height == 5
    assert source.poll(first.position, SCHEMA) is None
    rows(5, 2).write_delta(str(table), mode="append")
    second = source.poll(first.position, SCHEMA)
    assert second is not None
    assert second.rows.height == 7
    with pytest.raises(DataError, match="no Delta table"):
        Delta(path=str(tmp_path / "nothing")).poll(None, SCHEMA)


def test_a_source_is_found_by_name_and_an_unknown_one_names_the_closest() -> None:
    assert isinstance(Source.from_dict({"name": "files", "path": "x.csv"}), Files)
    with pytest.raises(ConfigError, match="'sql'"):
        Source.from_dict({"name": "sqll"})
