"""How long a step of 1,024 windows waits for a cold file: by page faults, announced, in blocks, and in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

import neuro_divergent as nd
from large.panels import HORIZON, INPUT_SIZE, WINDOWS, forget, has_no_room, show, write_panel
from neuro_divergent.data.announce import reading
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.scaling.window import IdentityScaler
from neuro_divergent.data.windows import Windows

BATCHES, FIRST = 60, 10  # batches of the exact order, and how many of them are not counted
WORK = 0.05  # seconds of work between two batches


def measure(directory: Path, rows: int) -> dict[str, Any]:
    """Return milliseconds of waiting for a batch, with nothing and with 50 ms of work between two."""
    path = write_panel(directory, rows)
    memory, disk = nd.Panel.open(path, mmap=False), nd.Panel.open(path)
    has_no_room(True)
    found: dict[str, Any] = {}
    for name, panel, how in (
        ("in memory", memory, True),
        ("page faults", disk, "faults"),
        ("page faults, read-ahead of the kernel", disk, "kernel"),
        ("announced", disk, True),
        ("block shuffle", disk, "blocks"),
    ):
        found[name] = {}
        for work in (0.0, WORK):
            if panel is disk:
                forget(path, disk)
            found[name][f"{1000 * work:g} ms of work"] = _waiting(panel, how, work)
    has_no_room(False)
    rows_of = [
        [name, *(value for result in results.values() for value in (result["median"], result["mean"], result["first"]))]
        for name, results in found.items()
    ]
    columns = ["milliseconds per 1,024 windows", "median", "mean", "first", "median", "mean", "first"]
    show(f"(a) Waiting, {rows:,} rows; without work, and with {1000 * WORK:g} ms between batches", columns, rows_of)
    announced = found["announced"][f"{1000 * WORK:g} ms of work"]["mean"]
    print(f"announced, goal 15 ms: {'reached' if announced <= 15 else 'MISSED'}")
    return found


def _waiting(panel: nd.Panel, how: Any, work: float) -> dict[str, float]:
    batcher = WindowBatcher(panel, INPUT_SIZE, HORIZON, IdentityScaler())
    windows = Windows(panel, INPUT_SIZE, HORIZON, panel.offsets[:-1], panel.offsets[1:])
    shuffle = how if how == "blocks" else True
    loader = WindowLoader(windows, batcher, Order(batch_size=WINDOWS, shuffle=shuffle, seed=1))
    count = BATCHES if how != "blocks" or work else 20 * BATCHES
    with reading(panel.y, "random" if how == "faults" else "normal"):
        batches: Iterator[Any] = loader.epoch(0)
        if how in ("faults", "kernel"):
            batches = (batcher.windows(*place) for place in loader.places(0))
        spent = []
        for _ in range(count):
            began = time.perf_counter()
            next(batches)
            spent.append(1000 * (time.perf_counter() - began))
            _work(work)
        batches.close()  # type: ignore[attr-defined]
    return {"median": median(spent[FIRST:]), "mean": mean(spent[FIRST:]), "first": spent[0]}


def _work(seconds: float) -> None:
    """Keep one core busy, mostly outside of Python, as a training step does."""
    end = time.perf_counter() + seconds
    values = np.ones((256, 256), np.float32)
    while time.perf_counter() < end:
        values @ values
