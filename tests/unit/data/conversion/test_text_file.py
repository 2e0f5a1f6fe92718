"""CSV files read in chunks have the types and values of CSV files read as a whole."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.conversion import text_file
from neuro_divergent.data.conversion.rows import Rows
from neuro_divergent.data.conversion.text_file import TextFile
from neuro_divergent.data.io.csv_file import CsvFile
from neuro_divergent.data.schema import Schema

SCHEMA = Schema(past=("p",), future=("f",), weight="w", categorical=("f",))
WANTED = ["unique_id", "ds", "y", "w", "p", "f"]
VALUES = st.sampled_from(["1", "2.5", "007", "", "-3", "true", "false", "abc", '"x,y"', '""', '"a\nb"', " 4", "1e3"])
ROWS = st.lists(st.tuples(*[VALUES] * 6), min_size=1, max_size=12)


def read_in_chunks(path: Path, schema: Schema, rows: int) -> pl.DataFrame:
    with (
        TemporaryDirectory() as place,
        patch.object(text_file, "_PARTS", 10**9),
        patch.object(CsvFile, "batches", shorter(rows)),
    ):
        files = TextFile(CsvFile(str(path), ",", schema.encoding), schema, WANTED, 2**20).convert(Path(place) / "a")
        frames = [file.scan().collect() for file in files]
        return pl.concat(frames)


def shorter(rows: int):  # type: ignore[no-untyped-def]
    """Return what reads fewer rows at a time than polars does for small files."""
    usual = CsvFile.batches

    def batches(self, header, types, _):  # type: ignore[no-untyped-def]
        for frame in usual(self, header, types, rows):
            yield from frame.iter_slices(rows)

    return batches


@settings(max_examples=2000 if os.environ.get("ND_SOAK") else 60)
@given(rows=ROWS, size=st.integers(1, 4), blank=st.integers(0, 3))
def test_chunks_of_a_csv_file_equal_the_whole_file(rows: list[tuple[str, ...]], size: int, blank: int) -> None:
    with TemporaryDirectory() as place:
        path = Path(place) / "a.csv"
        text = "\n".join([",".join(WANTED), *map(",".join, rows)])
        path.write_text(text + "\n" * (blank + 1), "utf-8")
        expected = attempt(lambda: CsvFile(str(path), ",").read(SCHEMA, WANTED).frame)
        found = attempt(lambda: read_in_chunks(path, SCHEMA, size))
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected
        else:
            assert found.schema == expected.schema
            assert found.equals(expected)


def attempt(read: Callable[[], pl.DataFrame]) -> pl.DataFrame | str:
    try:
        return read()
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_file_in_another_encoding_is_read_in_chunks(packed: bool, tmp_path: Path) -> None:
    lines = ["unique_id,ds,y,w,p,f", *(f"Käse,{n},{n / 4},1,{n},ö{n % 2}" for n in range(50))]
    content = "\n".join(lines).encode("latin-1")
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    schema = SCHEMA.replace(encoding="latin-1")
    found = read_in_chunks(path, schema, 7)
    assert found.equals(CsvFile(str(path), ",", "latin-1").read(schema, WANTED).frame)


def test_types_that_differ_between_csv_files_become_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("unique_id,ds,y,w,p,f\n7,1,1,1,1,1\n")
    (tmp_path / "b.csv").write_text("unique_id,ds,y,w,p,f\n007,2,1,1,1,1\n")
    files = [
        file
        for name in ("a", "b")
        for file in TextFile(CsvFile(f"{tmp_path}/{name}.csv", ","), SCHEMA, WANTED, 2**20).convert(tmp_path / name)
    ]
    assert Rows(files, "both", SCHEMA).read(0, 2)["unique_id"].to_list() == ["7", "007"]
