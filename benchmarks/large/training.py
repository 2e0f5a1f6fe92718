"""The time of a training step on a cold panel on disk, compared with the same panel in memory.

Each training has a process of its own: pages that another map of the same file has in use cannot be dropped.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import neuro_divergent as nd
from large.panels import HORIZON, INPUT_SIZE, WINDOWS, forget, has_no_room, read_all, show, write_panel
from neuro_divergent.data.announce import resident
from timing import in_turns, now, process_bytes, run

WARM_UP = 10
# Architecture, order and page cache, steps, and the goal as a ratio to the step in memory.
CASES: list[tuple[str, Any, str, int, float | None]] = [
    ("NHITS", True, "cold", 60, 1.05),
    ("NHITS", "blocks", "cold", 60, None),
    ("NLinear", True, "cold", 110, None),
    ("NLinear", "blocks", "cold", 600, 1.3),
    ("NLinear", True, "warm", 400, 1.05),
]


class Clock(nd.callbacks.Callback):
    """Takes the time at the end of each step; forgets the files when training starts, if asked for."""

    def __init__(self, path: Path, panel: nd.Panel, *, cold: bool) -> None:
        self.times: list[float] = []
        self._path, self._panel, self._cold = path, panel, cold

    def fit_start(self, trainer: nd.Trainer) -> None:
        """Begin with a page cache that is cold or warm."""
        if not self._cold:
            read_all(self._path)
            return
        forget(self._path, self._panel)
        if resident(self._panel.y, np.arange(0, len(self._panel), 10_007), 1) > 0.1:
            raise RuntimeError("the files are still in memory")

    def step_end(self, trainer: nd.Trainer) -> None:
        """Take the time."""
        self.times.append(now())


def step_milliseconds(path: Path, name: str, shuffle: Any, steps: int, *, disk: bool, cold: bool) -> float:
    """Return the mean time of a step after those that warm up, in a process of its own."""
    return probe(path, name, shuffle, steps, disk=disk, cold=cold)["milliseconds"]


def probe(path: Path, name: str, shuffle: Any, steps: int, *, disk: bool, cold: bool) -> dict[str, float]:
    """Return the mean time of a step, and the memory that no file backs, of a training in a process of its own."""
    here = str(Path(__file__).resolve().parents[1])
    arguments = f"{str(path)!r}, {name!r}, {shuffle!r}, {steps}, disk={disk}, cold={cold}"
    code = f"import sys; sys.path.insert(0, {here!r}); from large.training import train; train({arguments})"
    made: dict[str, float] = json.loads(run([sys.executable, "-c", code], 1).splitlines()[-1])
    return made


def train(place: str, name: str, shuffle: Any, steps: int, *, disk: bool, cold: bool) -> None:
    """Train, and print the mean time of a step after those that warm up, and the memory that no file backs."""
    path = Path(place)
    panel = nd.Panel.open(path, mmap=disk)
    has_no_room(disk and cold)
    clock = Clock(path, panel, cold=cold)
    config = nd.TrainingConfig(
        max_steps=steps, batch_size=WINDOWS, threads=1, shuffle=shuffle, log_every=steps, early_stopping=None
    )
    model = nd.Forecaster(
        getattr(nd, name)(), horizon=HORIZON, input_size=INPUT_SIZE, validation=0, refit=False, training=config
    )
    model.fit(panel, callbacks=[clock])
    spent = 1000 * (clock.times[-1] - clock.times[WARM_UP]) / (len(clock.times) - 1 - WARM_UP)
    print(json.dumps({"milliseconds": spent, **{name: process_bytes(name) for name in ("RssAnon", "VmData")}}))


def measure(directory: Path, rows: int, rounds: int) -> dict[str, Any]:
    """Return milliseconds of a step and the ratio to the step in memory."""
    path = write_panel(directory, rows)
    found: dict[str, Any] = {}
    table = []
    for name, shuffle, cache, steps, goal in CASES:
        memory, disk = in_turns(
            rounds,
            lambda: step_milliseconds(path, name, shuffle, steps, disk=False, cold=False),  # noqa: B023
            lambda: step_milliseconds(path, name, shuffle, steps, disk=True, cold=cache == "cold"),  # noqa: B023
        )
        order = "blocks" if shuffle == "blocks" else "exact"
        found[f"{name}, {order}, {cache}"] = {"memory": memory, "disk": disk, "ratio": disk / memory, "goal": goal}
        told = "" if goal is None else f"{goal:g}: {'reached' if disk / memory <= goal else 'MISSED'}"
        table.append([f"{name}, {order}, {cache}", memory, disk, disk / memory, told])
    show(f"(b) Training step, {rows:,} rows", ["milliseconds", "in memory", "on disk", "ratio", "goal"], table)
    return found
