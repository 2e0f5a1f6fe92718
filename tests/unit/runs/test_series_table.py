from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import NeuroDivergentError, UntrustedFileError
from neuro_divergent.runs import csv_blocks, series_table
from neuro_divergent.runs.csv_blocks import CsvBlocks
from neuro_divergent.runs.series_table import ParquetSeriesTable, SeriesTable, open_series_table

NAMES = ["a", "b,c", 'd "quoted"', "two\nlines", "ü", *(f"series-{number}" for number in range(40))]


def frame_of(names: list[Any], seed: int = 0) -> pl.DataFrame:
    """Return a table with some rows of each name, whose numbers are all different."""
    chance = random.Random(seed)
    ids = [name for name in names for _ in range(chance.randint(1, 30))]
    return pl.DataFrame(
        {"store": ids, "ds": list(range(len(ids))), "forecast": [float(row) for row in range(len(ids))]}
    )


def write(frame: pl.DataFrame, path: Path) -> SeriesTable:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=50)
    return open_series_table(path, "store")


@pytest.fixture(params=["parquet", "csv", "small parquet", "small csv"])
def file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to write, of which little is read at once unless it is a small one."""
    *small, kind = request.param.split()
    if not small:
        monkeypatch.setattr(series_table, "_ROWS_AT_ONCE", 64)
        monkeypatch.setattr(series_table, "_SMALL", 0)
        monkeypatch.setattr(csv_blocks, "_BYTES_AT_ONCE", 500)
    return tmp_path / f"table.{kind}"


@pytest.mark.parametrize("names", [NAMES, [*range(60)]], ids=["text", "numbers"])
def test_rows_of_each_series_are_those_of_the_whole_table(file: Path, names: list[Any]) -> None:
    frame = frame_of(names)
    table = write(frame, file)
    assert table.columns == ("store", "ds", "forecast")
    assert table.index.names.to_list() == [str(name) for name in names]
    for name in names:
        wanted = frame.filter(pl.col("store") == name)
        found = table.rows_of(str(name))
        assert found["ds"].cast(pl.Int64).to_list() == wanted["ds"].to_list()
        assert found["store"].cast(pl.String).to_list() == [str(name)] * wanted.height
    assert table.rows_of("not there").height == 0


def test_rows_of_series_that_are_not_consecutive_are_found(file: Path) -> None:
    frame = frame_of(NAMES).sample(fraction=1, shuffle=True, seed=3)
    table = write(frame, file)
    assert table.index.first is None
    assert set(table.index.names) == set(NAMES)
    for name in NAMES[:8]:
        assert table.rows_of(name)["ds"].cast(pl.Int64).to_list() == frame.filter(store=name)["ds"].to_list()


def test_file_that_was_replaced_is_not_read_by_an_old_index(file: Path) -> None:
    table = write(frame_of(NAMES), file)
    assert table.rows_of("a").height
    write(frame_of(NAMES[::-1]), file)
    with pytest.raises(UntrustedFileError, match="changed while it was read"):
        table.rows_of("a")


def test_index_is_made_once_for_all_threads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, made, make = write(frame_of(NAMES), file), [], series_table.index_series

    def count(*given: Any) -> Any:
        made.append(given)
        time.sleep(0.1)
        return make(*given)

    monkeypatch.setattr(series_table, "index_series", count)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(table.rows_of, NAMES[:4]))
    assert len(made) == 1
    assert [rows["store"][0] for rows in found] == NAMES[:4]


def test_links_pipes_and_missing_columns_are_refused(file: Path, tmp_path: Path) -> None:
    write(frame_of(NAMES).rename({"store": "other"}), tmp_path / f"real{file.suffix}")
    with pytest.raises(UntrustedFileError, match="no column 'store'"):
        assert open_series_table(tmp_path / f"real{file.suffix}", "store").index
    file.symlink_to(tmp_path / f"real{file.suffix}")
    with pytest.raises(UntrustedFileError, match="link"):
        open_series_table(file, "other")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UntrustedFileError, match="regular"):
        open_series_table(file, "other")


def test_sample_has_complete_series_from_all_of_the_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"store": np.repeat(np.arange(5000), 8), "value": np.arange(40_000)})
    table = write(frame, tmp_path / "table.parquet")
    assert isinstance(table, ParquetSeriesTable)
    found, count = table.sample(2000, pieces=10)
    sizes = found.group_by("store").len()
    assert count == sizes.height
    assert set(sizes["len"]) == {8}
    assert 1800 <= found.height <= 2000
    assert np.histogram(found["store"], bins=10, range=(0, 5000))[0].min() > 0
    assert found.sort("value").equals(frame.filter(pl.col("store").is_in(found["store"].implode())))
    assert table.sample(10**6)[0].equals(frame)
    long = pl.DataFrame({"store": np.repeat([1, 2], [30_000, 10]), "value": np.arange(30_010)})
    found, count = write(long, tmp_path / "long.parquet").sample(100, pieces=4)  # type: ignore[attr-defined]
    assert (found.height, count) == (110, 2)


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("size", [60, 61, 64, 100, 10_000])
def test_blocks_of_a_csv_file_have_all_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, end: str
) -> None:
    monkeypatch.setattr(csv_blocks, "_BYTES_AT_ONCE", size)
    path = tmp_path / "table.csv"
    text = frame_of(NAMES).write_csv().rstrip("\n")
    path.write_text(text + end)
    blocks = CsvBlocks(path)
    whole = pl.read_csv(path, infer_schema=False)
    assert pl.concat(block.frame for block in blocks).equals(whole)
    assert pl.concat(blocks.read(block.begin, block.end) for block in blocks).equals(whole)
    assert blocks.has_rows


@pytest.mark.parametrize(
    "content", [b"a,b\n" + b"x" * 5000, b"x" * 5000, b'a,b\n"' + b"\n" * 5000, b"\0" * 5000], ids=range(4)
)
def test_csv_file_with_an_endless_line_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(csv_blocks, "_BYTES_AT_ONCE", 1000)
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(NeuroDivergentError, match="line of more than 1,000 bytes"):
        list(CsvBlocks(tmp_path / "table.csv"))
