"""Rows of SQL queries."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.data.io.address import is_address, refuse_password, without_password
from neuro_divergent.data.io.source import check_source, read_table
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from tests.postgresql import find_binaries, new_database

QUERY = "SELECT shop AS unique_id, day AS ds, sum(units) AS y FROM sales GROUP BY 1, 2;"
ROWS = [("a", "2024-01-01", 1.5), ("a", "2024-01-01", 1), ("a", "2024-01-02", 3.0), ("b", "2024-01-01", 4.0)]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("shop.db")) as database, database:
        database.execute("CREATE TABLE sales (shop TEXT, day TEXT, units)")
        database.executemany("INSERT INTO sales VALUES (?, ?, ?)", ROWS)
    return "sqlite:///shop.db"


def test_the_rows_of_a_query_are_a_table(shop: str) -> None:
    panel = build_panel(shop, Schema(query=QUERY))
    assert panel.to_frame().rows() == [
        ("a", date(2024, 1, 1), 2.5),
        ("a", date(2024, 1, 2), 3.0),
        ("b", date(2024, 1, 1), 4.0),
    ]
    assert panel.source == shop
    wide = build_panel(
        shop, Schema(query="SELECT day, units AS a, units * 2 AS b FROM sales LIMIT 1", wide=True, frequency="1d")
    )
    assert wide.to_frame().rows() == [("a", date(2024, 1, 1), 1.5), ("b", date(2024, 1, 1), 3.0)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (None, r'which rows\? Pass query="SELECT ..." .*; there are the tables sales$'),
        ("SELECT 1 AS y WHERE 0", "no data rows$"),
        ("SELECT absent FROM sales", "the database refuses: no such column: absent$"),
        ("DELETE FROM sales", "the database refuses: attempt to write a readonly database$"),
        ("SELECT shop AS y FROM sales", "column 'ds' missing; found y"),
    ],
)
def test_a_query_that_gives_no_table_is_refused(shop: str, query: str | None, message: str) -> None:
    with pytest.raises(DataError, match=f"^sqlite:///shop.db: {message}"):
        build_panel(shop, Schema(query=query))


def test_a_file_that_is_absent_or_no_file_is_refused_and_not_made(shop: str) -> None:
    Path("place").mkdir()
    for name, message in (("nowhere.db", "nowhere.db not found"), ("place", "is not a regular file")):
        with pytest.raises(DataError, match=message):
            read_table(f"sqlite:///{name}", Schema(query="SELECT 1"))
    assert not Path("nowhere.db").exists()


def test_rows_beyond_the_memory_are_refused(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.data.io.database.memory_limit", lambda: 1e-8)
    with pytest.raises(DataError, match="the query gives more than"):
        read_table(shop, Schema(query=QUERY))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret@host/shop",
        "mysql+pymysql://me:se@cret@host/shop?charset=utf8",
        "postgresql://host/shop?password=secret",
        "snowflake://me@host/shop?private_key=secret",
        "snowflake://me@host/shop?warehouse=x&token=secret",
        "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BODBC%7D%3BUID%3Dme%3BPWD%3Dsecret",
        "mssql+pyodbc:///?odbc_connect=PWD=secret;UID=me",
    ],
)
def test_a_password_is_refused_and_shown_nowhere(address: str) -> None:
    for refuse in (refuse_password, check_source, lambda name: read_table(name, Schema(query="SELECT 1"))):
        with pytest.raises(ConfigError, match="holds a password") as caught:
            refuse(address)
        assert "cret" not in str(caught.value)
    assert "cret" not in without_password(address)


def test_what_is_an_address() -> None:
    assert is_address("duckdb:///a.db")
    assert not any(map(is_address, ["s3://bucket/*.parquet", "https://host/a.csv", "a.csv", "in/*.csv", "C:\\a.csv"]))


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(DataError, match="the environment variable ND_ABSENT, which the address names, is not set"):
        read_table("postgresql://me:${ND_ABSENT}@host/shop", Schema(query="SELECT 1"))


@pytest.mark.skipif(find_binaries() is None, reason="PostgreSQL is not installed")
def test_postgresql_with_its_types_and_a_password_from_the_environment(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    address = new_database(postgresql, "table_source")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE place")
        connection.execute("CREATE TABLE sales (shop TEXT, day DATE, units NUMERIC(9, 2))")
        connection.execute(
            "INSERT INTO sales VALUES ('a', '2024-01-01', 1.25), ('a', '2024-01-02', NULL), ('a', '2024-01-03', 2)"
        )
    monkeypatch.setenv("SHOP_PASSWORD", "any/thing@all")
    named = address.replace("//nd@", "//nd:$SHOP_PASSWORD@")
    schema = Schema(target="units", time="day", id="shop", query="SELECT * FROM sales", missing="zero")
    assert build_panel(named, schema).to_frame().rows() == [
        ("a", date(2024, 1, 1), 1.25), ("a", date(2024, 1, 2), 0.0), ("a", date(2024, 1, 3), 2.0),
    ]  # fmt: skip
    for query, message in (
        ("SELECT nextval('place')", "read-only transaction"),
        ("SELECT * FROM absent", "does not exist"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            read_table(named, schema.replace(query=query))
        assert "thing" not in str(caught.value)
