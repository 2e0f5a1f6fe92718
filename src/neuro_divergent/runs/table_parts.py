"""Writes tables that are larger than memory, part by part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from neuro_divergent.core.storage.atomic import flush_directory
from neuro_divergent.core.storage.disk import storage_error

_ROW_GROUP = 2**18


def write_table_parts(path: Path, tables: Iterable[pl.DataFrame]) -> int:
    """Write tables that follow each other to one Parquet file, complete or not at all; return its rows.

    One table is in memory at a time. They are written next to the file first, so that twice its size must be free.

    Raises:
        StorageError: If the disk refuses; the file is then as it was.
    """
    path, rows = path.absolute(), 0
    try:
        # The name is one that ``clear_leftovers`` knows, should the process be killed.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.partial-", dir=path.parent) as name:
            work, files = Path(name), list[Path]()
            for place, table in enumerate(tables):
                files.append(work / f"{place:06d}.parquet")
                table.write_parquet(files[-1], row_group_size=_ROW_GROUP)
                rows += table.height
            joined = files[0] if len(files) == 1 else work / "all.parquet"
            if len(files) > 1:
                pl.scan_parquet(files, glob=False).sink_parquet(joined, row_group_size=_ROW_GROUP, maintain_order=True)
            with joined.open("rb") as file:
                os.fsync(file.fileno())
            joined.chmod(0o644)
            joined.replace(path)
        flush_directory(path.parent)
    except OSError as error:
        raise storage_error(path, "written", error) from error
    except pl.exceptions.ComputeError as error:  # which has the reason of the disk as text
        raise storage_error(path, "written", error) from error
    return rows
