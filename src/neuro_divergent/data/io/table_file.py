"""Writing tables as CSV or Parquet files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.atomic import write_file

if TYPE_CHECKING:
    import polars as pl


def write_table(path: Path, frame: pl.DataFrame) -> Path:
    """Write a table as CSV or Parquet, by the ending of the name, complete or not at all; return the name.

    Raises:
        InputError: If the ending is neither.
        StorageError: If the disk refuses.
    """
    check_table_name(path)
    buffer = io.BytesIO()
    if path.suffix == ".csv":
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    write_file(path, buffer.getvalue())
    return path


def check_table_name(path: Path) -> None:
    """Refuse file names without a known extension."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: write forecasts to a .csv or a .parquet file.")
