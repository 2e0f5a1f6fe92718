"""Rates and peak memory of converting Parquet files to a panel on disk, sorted and not."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from large.panels import show
from timing import process_bytes, run

FILES = 8
LENGTH = 10_000
PROBE = "import sys; sys.path.insert(0, {here!r}); from large.conversion import probe; probe({source!r}, {target!r})"
GOALS = {"sorted": 30e6, "unsorted": 8e6}  # rows per second of the processor


def probe(source: str, target: str) -> None:
    """Convert, and print rows, seconds of both clocks and the most memory that no file backs."""
    import neuro_divergent as nd
    from neuro_divergent.data.conversion.conversion import convert

    most, done = [process_bytes("RssAnon")], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], process_bytes("RssAnon"))

    thread = threading.Thread(target=watch)
    thread.start()
    wall, processor = time.perf_counter(), time.process_time()
    convert(source, Path(target), nd.Schema(id="unique_id"))
    spent = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    done.set()
    thread.join()
    print(json.dumps({"rows": len(nd.Panel.open(target)), "peak": most[0], **spent}))


def write_files(directory: Path, rows: int, *, is_sorted: bool) -> Path:
    """Write a table as several Parquet files: series after series, or all series at each time."""
    path = directory / ("sorted" if is_sorted else "unsorted")
    path.mkdir(exist_ok=True)
    series, random = max(rows // LENGTH, FILES), np.random.default_rng(0)
    for number in range(FILES):
        if is_sorted:
            ids = np.repeat(np.arange(number * series // FILES, (number + 1) * series // FILES), LENGTH)
            times = np.tile(np.arange(LENGTH), len(ids) // LENGTH)
        else:
            steps = np.arange(number * LENGTH // FILES, (number + 1) * LENGTH // FILES)
            ids, times = np.tile(np.arange(series), len(steps)), np.repeat(steps, series)
        frame = pl.DataFrame({"unique_id": ids, "ds": times, "y": random.standard_normal(len(ids), dtype=np.float32)})
        frame.write_parquet(path / f"part-{number}.parquet")
    return path


def measure(directory: Path, rows: int) -> dict[str, Any]:
    """Return rows per second and peak memory."""
    found: dict[str, Any] = {}
    table = []
    for name in ("sorted", "unsorted"):
        path = write_files(directory, rows, is_sorted=name == "sorted")
        here = str(Path(__file__).resolve().parents[1])
        code = PROBE.format(here=here, source=str(path / "*.parquet"), target=str(directory / f"built-{name}"))
        made = json.loads(run([sys.executable, "-c", code], 2).splitlines()[-1])
        rates = {clock: made["rows"] / made[clock] for clock in ("wall", "processor")}
        found[name] = {**made, "rows_per_second": rates, "goal": GOALS[name]}
        reached = rates["processor"] >= GOALS[name] and made["peak"] < 1e9
        told = "reached" if reached else "MISSED"
        table.append([name, rates["wall"] / 1e6, rates["processor"] / 1e6, made["peak"] / 2**20, told])
    columns = ["million rows a second", "wall", "processor", "peak MB", "goal"]
    show(f"(d) Conversion, {rows:,} rows", columns, table)
    return found
