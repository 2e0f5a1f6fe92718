"""Panels on disk of any number of rows, and a page cache without them."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.announce import maps_of
from neuro_divergent.data.cleaning.frequency import Frequency

LENGTH = 10_000  # rows of a series
INPUT_SIZE, HORIZON, WINDOWS = 96, 24, 1024


def write_panel(directory: Path, rows: int) -> Path:
    """Write series of daily seasons and noise to disk, if they are not there."""
    path = directory / f"panel-{rows}"
    if not path.exists():
        series = max(rows // LENGTH, 1)
        random = np.random.default_rng(0)
        season = np.sin(np.arange(LENGTH, dtype=np.float32) * (2 * np.pi / 24))
        values = random.standard_normal(series * LENGTH, dtype=np.float32).reshape(series, LENGTH)
        values += season * random.random((series, 1), dtype=np.float32) * 4
        nd.Panel(
            schema=nd.Schema(id="unique_id"),
            ids=pl.Series("unique_id", range(series)),
            starts=pl.Series("ds", [0] * series),
            frequency=Frequency.parse(1),
            offsets=np.arange(series + 1) * LENGTH,
            y=values.reshape(-1),
        ).save(path)
    return path


def forget(path: Path, panel: nd.Panel | None = None) -> None:
    """Drop the files of a panel from the page cache; pages that the panel has mapped are released first."""
    for item in maps_of(panel.y) if panel is not None else ():
        item.madvise(mmap.MADV_DONTNEED)
    for file in path.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_all(path: Path) -> None:
    """Bring the files of a panel into the page cache."""
    for file in path.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                while opened.read(2**24):
                    pass


def has_no_room(is_large: bool) -> None:
    """Have panels treated as if they did not fit into the memory, or as they are."""
    from neuro_divergent.data import read_ahead

    read_ahead._COMFORTABLE = 0.0 if is_large else 0.5


def show(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table."""
    print(f"\n{title}")
    shown = [columns, *[[f"{item:.3g}" if isinstance(item, float) else str(item) for item in row] for row in rows]]
    widths = [max(len(row[place]) for row in shown) for place in range(len(columns))]
    for row in shown:
        first, *others = zip(row, widths, strict=True)
        print(first[0].ljust(first[1]), *(text.rjust(width) for text, width in others), flush=True)
