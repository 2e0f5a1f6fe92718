"""Parquet files, whose headers are checked before they are read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.data.io.parquet_header import ParquetHeader, read_header
from neuro_divergent.data.io.table import Table, first_line, show_name
from neuro_divergent.data.io.thrift import ThriftError

PROBLEMS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)
_FAILED = 3
# Reads a file and discards it: a crash ends that process instead of this one.
_TRIAL = f"""
import sys, polars
try:
    polars.read_parquet(sys.argv[1], columns=sys.argv[2:] or None, glob=False)
except BaseException:
    sys.exit({_FAILED})
"""


def read_parquet(path: str, wanted: Sequence[str] | None) -> Table:
    """Read the wanted columns, or all of them.

    Raises:
        DataError: If the file is damaged, or larger than the memory.
    """
    header = check_parquet(path, wanted)
    chosen = [name for name in (header.columns if wanted is None else wanted) if name in header.columns]
    unpacked, laid_out = sum(header.sizes.values()) / 2**30, 8 * header.rows * len(chosen) / 2**30
    if max(unpacked, laid_out) > memory_limit():
        rows = f"{laid_out:.2f} GiB in {header.rows:,} rows"
        size = f"{unpacked:.2f} GiB uncompressed" if unpacked > laid_out else rows
        limit = f"limit {memory_limit():.2f} GiB, the memory. 'nd panel build' converts tables larger than that"
        raise DataError(f"{path}: declares {size}, {limit}")
    try:
        frame = pl.scan_parquet(path, glob=False).select(chosen).collect()
    except PROBLEMS as error:
        raise DataError(f"{path}: not a complete Parquet file ({first_line(error)})") from None
    return Table(frame, path, "polars", header.columns)


def check_parquet(path: str, wanted: Sequence[str] | None) -> ParquetHeader:
    """Check the header of a file for the requested columns, so that polars can read them.

    Raises:
        DataError: If it cannot be, or if a column is there twice.
    """
    try:
        header = read_header(path, wanted)
    except (ThriftError, *PROBLEMS) as error:
        raise DataError(f"{path}: not a complete Parquet file ({first_line(error)})") from None
    if len(set(header.columns)) < len(header.columns):
        name = next(name for name in header.columns if header.columns.count(name) > 1)
        places = [str(place) for place, other in enumerate(header.columns, 1) if other == name]
        raise DataError(f"{path}: column {show_name(name)!r} appears twice ({', '.join(places[:5])})")
    if header.is_delicate:
        _try_elsewhere(path, [name for name in wanted or () if name in header.columns])
    return header


def _try_elsewhere(path: str, columns: list[str]) -> None:
    """Read a file in another process first, because a damaged one might end this one."""
    if not sys.executable:
        return
    done = subprocess.run(
        [sys.executable, "-c", _TRIAL, path, *columns], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode < 0 or done.returncode == _FAILED:
        raise DataError(f"{path}: not a complete Parquet file (a trial to read it failed)")
