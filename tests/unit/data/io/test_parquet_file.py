"""Good Parquet files of every writer are read; what damaged ones declare is not believed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.parquet_file import read_parquet
from neuro_divergent.data.io.parquet_header import read_header
from neuro_divergent.data.io.thrift import ThriftError, ThriftReader

ROWS = 1000
FRAME = pl.DataFrame(
    {
        "unique_id": [f"s{n // 100}" for n in range(ROWS)],
        "ds": pl.Series(range(ROWS)).cast(pl.Date),
        "y": [None if n % 13 == 0 else n / 7 for n in range(ROWS)],
        "nested": [{"a": n, "b": [str(n)] * (n % 3)} for n in range(ROWS)],
        "empty": pl.Series([None] * ROWS, dtype=pl.Float64),
    }
)
WRITERS: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False, "compression": "NONE"},
    "second_version": {"data_page_version": "2.0", "compression": "zstd"},
    "indexed": {"write_page_index": True, "write_page_checksum": True, "compression": "snappy"},
    "many_groups": {"row_group_size": 7},
    "small_pages": {"data_page_size": 64, "write_statistics": True},
    "deltas": {
        "use_dictionary": False,
        "column_encoding": {"unique_id": "DELTA_BYTE_ARRAY", "ds": "DELTA_BINARY_PACKED", "y": "BYTE_STREAM_SPLIT"},
    },
}


@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_arrow_are_read(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    columns = FRAME.columns if writer != "deltas" else ["unique_id", "ds", "y"]
    table = pa.Table.from_batches(FRAME.select(columns).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches())
    pq.write_table(table, path, **WRITERS[writer])
    header, meta = read_header(str(path)), pq.read_metadata(path)
    assert header.rows == ROWS
    assert header.columns == tuple(columns)
    assert header.is_delicate == (writer == "deltas")
    groups = [meta.row_group(place) for place in range(meta.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    assert sum(header.sizes.values()) == sum(chunk.total_uncompressed_size for chunk in chunks)
    assert read_parquet(str(path), ["y", "unique_id"]).frame.equals(FRAME.select("y", "unique_id"))


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_files_of_polars_are_read(compression: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    FRAME.write_parquet(path, compression=compression, row_group_size=300, data_page_size=100)
    assert read_header(str(path)).columns == tuple(FRAME.columns)
    assert read_parquet(str(path), None).frame.equals(FRAME)
    FRAME.head(0).write_parquet(path)
    assert read_header(str(path)).rows == 0


def test_checking_costs_little(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    values = np.random.default_rng(0).standard_normal(1_000_000)
    pl.DataFrame({"unique_id": np.repeat(np.arange(1000), 1000), "ds": np.tile(np.arange(1000), 1000), "y": values}
                 ).write_parquet(path)  # fmt: skip
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        read_header(str(path))
        best = min(best, time.process_time() - begin)
    assert best < 0.05


def test_a_column_that_is_there_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table([[1], [2], [3]], names=["y", "ds", "y"]), path)
    with pytest.raises(DataError, match=r"column 'y' appears twice \(1, 3\)"):
        read_parquet(str(path), ["y"])


def test_a_page_that_makes_polars_end_the_process_is_refused(tmp_path: Path) -> None:
    """The first page says it has fewer than no values; without the check the whole process is aborted."""
    path = tmp_path / "table.parquet"
    pl.DataFrame({"ds": range(100), "y": [n % 9 + 0.5 for n in range(100)]}).write_parquet(path, compression="snappy")
    whole = path.read_bytes()
    sound, ended = b"\x15\xc8\x01", b"\x15\xc7\x01"  # 100 and -100 values
    place = whole.rindex(sound, 0, whole.index(b"root"))
    path.write_bytes(whole[:place] + ended + whole[place + 3 :])
    with pytest.raises(DataError, match=r"not a complete Parquet file \(values of a page: -100, at most 100 can be\)"):
        read_parquet(str(path), None)


def test_columns_that_overlap_are_refused(tmp_path: Path) -> None:
    """Otherwise checking a file of a few megabytes could take days."""
    path = tmp_path / "table.parquet"
    frame = pl.DataFrame({name: range(5000) for name in ("a", "b", "c")})
    frame.write_parquet(path, compression="uncompressed", statistics=False)
    whole = path.read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    first = pq.read_metadata(path).row_group(0).column(0)
    # Every column is said to have more than half of the bytes.
    footer = whole[begin:-8].replace(_zigzag(first.total_compressed_size), _zigzag(begin // 2 + 100))
    path.write_bytes(whole[:begin] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DataError, match=r"bytes of a column: \d+, at most \d+ can be"):
        read_parquet(str(path), None)


def _zigzag(number: int) -> bytes:
    value, parts = number << 1, []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def test_a_delicate_file_that_is_damaged_is_tried_elsewhere_first(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    texts = pa.table({"unique_id": [f"a name {n}" for n in range(500)]})
    encoding = {"unique_id": "DELTA_LENGTH_BYTE_ARRAY"}
    pq.write_table(
        texts, path, use_dictionary=False, column_encoding=encoding, write_statistics=False, compression="NONE"
    )
    assert read_parquet(str(path), None).frame.height == 500
    whole = bytearray(path.read_bytes())
    place = whole.index(b"a name 0")
    whole[place - 8 : place] = b"\xff" * 8  # the differences of the lengths
    path.write_bytes(whole)
    code = f"""
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.parquet_file import read_parquet
try:
    read_parquet({str(path)!r}, None)
except DataError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}: not a complete Parquet file (a trial to read it failed)\n"
    assert not done.stderr


def test_thrift_reads_what_the_specification_says() -> None:
    """Bytes as the compact protocol is specified: short and long field numbers, zigzag numbers, lists and truth."""
    content = bytes([0x15, 0x03, 0x18, 0x02, 0x68, 0x69, 0x11, 0x12, 0x05, 0x80, 0x02, 0xAC, 0x02]) + bytes(
        [0x19, 0x25, 0x02, 0x04, 0x1C, 0x15, 0x02, 0x00, 0x17, *range(8), 0x00]
    )
    reader = ThriftReader(content + b"rest")
    assert reader.read() == {
        1: -2, 2: b"hi", 3: True, 4: False, 128: 150, 129: [1, 2], 130: {1: 1}, 131: bytes(range(8))
    }  # fmt: skip
    assert content[reader.position :] == b""


@pytest.mark.parametrize(
    "content",
    [b"", b"\x15", b"\x18\x05ab\x00", b"\x19\xf5\xff\xff\xff\xff\x0f", b"\x1c" * 100, b"\x19\x19" * 100, b"\x1b\x00",
     b"\x15" + b"\xff" * 12 + b"\x00"],
)  # fmt: skip
def test_thrift_refuses_what_is_not(content: bytes) -> None:
    with pytest.raises(ThriftError):
        ThriftReader(content).read()
