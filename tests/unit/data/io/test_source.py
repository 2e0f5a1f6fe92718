from __future__ import annotations

import gzip
import sys
import time
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import parse_times
from neuro_divergent.data.io.source import Table, read_table, to_native
from neuro_divergent.data.schema import Schema

FRAME = pl.DataFrame(
    {"unique_id": ["A", "B"], "ds": [date(2024, 1, 1), date(2024, 1, 2)], "y": [1.5, None], "unused": ["p", "q"]}
)


def test_parquet_reads_only_what_has_a_role(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    FRAME.write_parquet(path)
    table = read_table(path, Schema())
    assert table.frame.equals(FRAME.select("unique_id", "ds", "y"))
    assert table.columns == tuple(FRAME.columns)
    assert (table.name, table.backend) == (str(path), "polars")
    assert read_table(path).frame.equals(FRAME)
    assert read_table(path, Schema(), only=["y"]).frame.columns == ["y"]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "tsv.gz"])
def test_csv(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"my.table.{kind}"
    text = FRAME.write_csv(separator="\t" if kind.startswith("tsv") else ",").encode()
    path.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    table = read_table(path, Schema())
    assert table.frame.equals(FRAME.select("unique_id", "ds", "y").cast({"ds": pl.String}))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "UTF8"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_csv_in_another_encoding(encoding: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{ending}"
    content = "unique_id,ds,y\nCafé,2024-01-01,1\n".encode(encoding)
    path.write_bytes(gzip.compress(content) if ending == "csv.gz" else content)
    assert read_table(path, Schema(encoding=encoding)).frame.rows() == [("Café", "2024-01-01", 1.0)]


def test_a_packed_file_is_not_unpacked_beyond_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"ds,y\n")
        for _ in range(100):
            file.write(b"1,1\n" * 100_000)
    assert path.stat().st_size < 200_000
    monkeypatch.setattr("neuro_divergent.data.io.csv_file.memory_limit", lambda: 0.04)
    with pytest.raises(DataError, match=r"bomb\.csv\.gz: unpacks to more than 0\.01 GiB, which is the limit here"):
        read_table(path, Schema())


@pytest.mark.parametrize("size", [2**17, 2**20])
def test_a_long_field_is_read(size: int, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"unique_id,ds,y\n{'A' * size},1,1\n")
    assert read_table(path, Schema()).frame["unique_id"].str.len_bytes().to_list() == [size]


def test_csv_of_other_habits(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b'\xef\xbb\xbf"unique_id",ds,y\r\n"a, b",2024-01-01,1\r\n\r\n\r\n')
    frame = read_table(path, Schema()).frame
    assert frame.rows() == [("a, b", "2024-01-01", 1.0)]


def test_csv_types_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("unique_id,shop,ds,y,flag,price,code,late\n007,7,1,1,True,1,x,\n008,8,2,2,False,2.5,y,3\n")
    schema = Schema(past=("flag", "price", "code", "late"), static="shop", categorical="shop")
    for table in (read_table(path, schema), read_table(path)):
        assert table.frame["unique_id"].to_list() == ["007", "008"]
        assert table.frame["shop"].to_list() == [7, 8]
        assert table.frame["ds"].dtype == pl.Int64
        assert table.frame["price"].dtype == pl.Float64
        assert table.frame["code"].dtype == pl.String
    assert read_table(path, schema).frame["flag"].dtype == pl.Boolean
    assert read_table(path, schema).frame["late"].to_list() == [None, 3.0]


def test_nothing_between_quotation_marks_is_a_missing_number(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('"unique_id","ds","y","x"\n"A","1","","2"\n"A","2","1.5",""\n')
    assert read_table(path, Schema(past="x")).frame.rows() == [("A", 1, None, 2.0), ("A", 2, 1.5, None)]


def test_names_that_look_like_fractions_stay_names(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("unique_id,ds,y\n1.50,1,1\n1.5,1,2\n")
    assert read_table(path, Schema()).frame["unique_id"].to_list() == ["1.50", "1.5"]


def test_csv_type_that_shows_late(tmp_path: Path) -> None:
    """The first thousand rows suggest a type; a later row may show another one."""
    path = tmp_path / "table.csv"
    path.write_text("ds,y,x\n" + "".join(f"{n},1,1\n" for n in range(3000)) + "3000,1,2.5\n")
    assert read_table(path, Schema(past="x")).frame["x"][-1] == 2.5
    path.write_text("ds,y,x\n" + "".join(f"{n},1,\n" for n in range(3000)) + "3000,1,2.5\n")
    assert read_table(path, Schema(past="x")).frame["x"][-1] == 2.5


def test_pattern_reads_files_in_order(tmp_path: Path) -> None:
    for name, ids in (("b", [3, 4]), ("a", [1, 2])):
        pl.DataFrame({"unique_id": ids, "ds": [1, 1], "y": [1.0, 2.0]}).write_csv(tmp_path / f"{name}.csv")
        pl.DataFrame({"unique_id": ids, "ds": [1, 1], "y": ids}).write_parquet(tmp_path / f"{name}.parquet")
    table = read_table(f"{tmp_path}/*.csv", Schema())
    assert table.frame["unique_id"].to_list() == [1, 2, 3, 4]
    assert table.name == f"{tmp_path}/*.csv"
    assert read_table(f"{tmp_path}/*.parquet", Schema()).frame["y"].to_list() == [1, 2, 3, 4]


def test_pattern_keeps_names_that_are_numbers_in_one_file_only(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("unique_id,ds,y\n7,1,1\n")
    (tmp_path / "b.csv").write_text("unique_id,ds,y\nx,1,1\n")
    assert read_table(f"{tmp_path}/*.csv", Schema()).frame["unique_id"].to_list() == ["7", "x"]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "a[1].csv"
    path.write_text("ds,y\n1,2\n")
    assert read_table(path, Schema()).frame.height == 1


def test_lazy_frame() -> None:
    table = read_table(FRAME.lazy(), Schema())
    assert table.frame.columns == ["unique_id", "ds", "y"]
    with pytest.raises(DataError, match="cannot be collected"):
        read_table(FRAME.lazy().select("nothing"))


def test_a_table_is_returned_as_it_is() -> None:
    table = Table(FRAME)
    assert read_table(table, Schema()) is table


PANDAS = pd.DataFrame(
    {
        "unique_id": ["A", "B"],
        "ds": pd.to_datetime(["2024-01-01", "2024-01-02"]),
        "zoned": pd.to_datetime(["2024-03-31T00:00Z", "2024-03-31T01:00Z"]).tz_convert("Europe/Berlin"),
        "y": [1.5, np.nan],
        "whole": [1, 2],
        "nullable": pd.array([1, None], dtype="Int64"),
        "category": pd.Categorical(["u", "v"]),
        "claim": [True, False],
        "dates": [date(2024, 1, 1), date(2024, 1, 2)],
        "text": ["x", None],
    }
)


def test_pandas() -> None:
    table = read_table(PANDAS)
    assert table.backend == "pandas"
    frame = table.frame
    assert frame["ds"].to_list() == [datetime(2024, 1, 1), datetime(2024, 1, 2)]
    assert frame["zoned"].dtype == pl.Datetime("us", "Europe/Berlin")
    assert [str(value) for value in frame["zoned"]] == ["2024-03-31 01:00:00+01:00", "2024-03-31 03:00:00+02:00"]
    assert frame["y"].fill_nan(None).to_list() == [1.5, None]
    assert frame["nullable"].to_list() == [1, None]
    assert frame["category"].to_list() == ["u", "v"]
    assert frame["claim"].dtype == pl.Boolean
    assert frame["dates"].dtype == pl.Date
    assert frame["text"].to_list() == ["x", None]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_times_of_every_unit_are_read(unit: str, zone: str | None) -> None:
    times = pd.Series(pd.date_range("2024-01-01", periods=2, unit=unit, tz=zone))
    found = read_table(pd.DataFrame({"ds": times})).frame["ds"]
    assert [str(value) for value in found] == [str(value) for value in times]


def test_a_pandas_index_is_offered_where_a_column_is_missing() -> None:
    times = pd.date_range("2024-01-01", periods=3)
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0]}, index=times)
    several = pd.concat({"a": frame, "b": frame}, names=["shop", "date"])
    for table, cure in (
        (frame, 'The index of the table is not read: pass table.reset_index(names="ds")'),
        (frame.rename_axis("date"), "The index (date) of the table is not read: pass table.reset_index()"),
        (several, "The index (shop, date) of the table is not read: pass table.reset_index()"),
    ):
        assert cure in str(read_table(table).lacks("ds"))
    assert "index" not in str(read_table(frame.reset_index(drop=True)).lacks("ds"))


@pytest.mark.parametrize("unit", ["M", "W", "D"])
def test_pandas_periods_are_refused_with_what_makes_them_times(unit: str) -> None:
    frame = pd.DataFrame({"ds": pd.period_range("2024-01-01", periods=3, freq=unit)})
    with pytest.raises(DataError, match=r"periods of pandas; .*assign\(ds=table\['ds'\].dt.to_timestamp\(\)\)"):
        read_table(frame)
    assert read_table(frame.assign(ds=frame["ds"].dt.to_timestamp())).frame.height == 3


def test_pandas_mixtures_are_refused() -> None:
    with pytest.raises(DataError, match="column 'y' holds values of different types"):
        read_table(pd.DataFrame({"y": [1, "x"]}))
    with pytest.raises(DataError, match="Expected unique column names"):
        read_table(pd.DataFrame([[1, 2]], columns=["y", "y"]))


def test_pyarrow() -> None:
    table = read_table(pa.table({"ds": [1, 2], "y": [1.0, 2.0], "unused": [0, 0]}), Schema())
    assert table.backend == "pyarrow"
    assert table.frame.to_dict(as_series=False) == {"ds": [1, 2], "y": [1.0, 2.0]}


COLUMNS = {
    "unique_id": pl.Series(["A", "A"]),
    "ds": pl.Series("other", [date(2024, 1, 1), date(2024, 1, 2)]),
    "y": np.array([1.0, 2.0], np.float32),
}


def test_to_native_polars() -> None:
    frame = to_native(COLUMNS, "polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["unique_id", "ds", "y"]
    assert frame.schema["y"] == pl.Float32


def test_to_native_is_fast() -> None:
    """It is part of the time of every forecast."""
    columns = {**{f"q{n}": COLUMNS["y"] for n in range(3)}, **COLUMNS}
    best = float("inf")
    for _ in range(300):
        begin = time.process_time()
        to_native(columns, "polars")
        best = min(best, time.process_time() - begin)
    assert best < 200e-6


def test_to_native_pandas_and_pyarrow() -> None:
    zoned = pl.Series([datetime(2024, 3, 31, 2), datetime(2024, 3, 31, 3)]).dt.replace_time_zone("UTC")
    columns = {**COLUMNS, "at": zoned.dt.convert_time_zone("Europe/Berlin"), "number": pl.Series([1, 2])}
    frame = to_native(columns, "pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame["ds"].tolist() == [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")]
    assert str(frame["at"].dt.tz) == "Europe/Berlin"
    assert frame["at"].iloc[0] == pd.Timestamp("2024-03-31T02:00Z")
    assert frame["y"].dtype == np.float32
    table = to_native(columns, "pyarrow")
    assert isinstance(table, pa.Table)
    assert table.column_names == list(columns)


def test_pandas_there_and_back() -> None:
    table = read_table(PANDAS[["unique_id", "ds", "zoned", "y", "whole"]])
    back = to_native(dict(zip(table.frame.columns, table.frame, strict=True)), table.backend)
    pd.testing.assert_frame_equal(back, PANDAS[["unique_id", "ds", "zoned", "y", "whole"]])


def test_pandas_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = read_table(PANDAS.drop(columns="text"))
    assert to_native({"ds": table.frame["ds"], "zoned": table.frame["zoned"]}, "pandas").shape == (2, 2)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-03-31", None], pl.Date),
        (["2024-03", "2024-04"], pl.Date),
        (["2024-03-31T15:00", "2024-03-31T16:00"], pl.Datetime("us")),
        (["2024-03-31 15:00:00", "2024-03-31 16:00:00.5"], pl.Datetime("us")),
        (["2024-03-31T15:00:00Z", "2024-03-31T16:00:00+02:00"], pl.Datetime("us", "UTC")),
        (["2024-03-31T15:00+02", "2024-03-31T16:00+0200"], pl.Datetime("us", "UTC")),
        (["12", " 13"], pl.Int64),
    ],
)
def test_parse_times(texts: list[str | None], expected: pl.DataType) -> None:
    parsed = parse_times(pl.Series("ds", texts), DataError)
    assert parsed.dtype == expected
    assert parsed.null_count() == texts.count(None)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.repeat(0.0, 1_000_000, eager=True), r"declares 0\.01 GiB in 1,000,000 rows, limit 0\.01 GiB"),
        (pl.int_range(1_000_000, eager=True) % 977 * 1.5, r"declares 0\.0\d GiB in 1,000,000 rows, limit 0\.01 GiB"),
    ],
)
def test_more_than_fits_into_memory_is_not_read(
    column: pl.Series, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the size of the table, not of the file: zeros are a few bytes on disk."""
    path = tmp_path / "bomb.parquet"
    pl.DataFrame({"ds": pl.repeat(0, 1_000_000, eager=True), "y": column}).write_parquet(path)
    assert path.stat().st_size < 2_000_000
    monkeypatch.setattr("neuro_divergent.data.io.parquet_file.memory_limit", lambda: 0.01)
    with pytest.raises(DataError, match=message):
        read_table(path, Schema())


def test_texts_that_are_large_when_unpacked_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.parquet"
    texts = [f"{n}" * 2000 for n in range(10_000)]
    pl.DataFrame({"unique_id": texts, "ds": 1, "y": 1.0}).write_parquet(path)
    monkeypatch.setattr("neuro_divergent.data.io.parquet_file.memory_limit", lambda: 0.02)
    with pytest.raises(DataError, match=r"declares 0\.07 GiB uncompressed, limit 0\.02 GiB"):
        read_table(path, Schema())
