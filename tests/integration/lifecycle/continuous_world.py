"""Worlds for continuous training: series whose rows arrive part by part, with everything that goes wrong."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.lifecycle.continuous.continuous import Continuous
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
from neuro_divergent.lifecycle.registry.registry import Registry

BEGIN = datetime(2026, 1, 1)
PER_DAY = 12
"""Rows of a day of the small world: one every two hours."""


@dataclass
class World:
    """Rows of some series that arrive part by part: days, or weeks.

    Attributes:
        place: Where everything is.
        values: Values of each series, without those that go wrong.
        first: Parts that are there at the beginning.
        parts: Parts in all.
        rows_per_part: Rows of a part.
        hours: Hours between rows.
        breaks: Parts whose values are multiplied by 1,000 when they arrive; with the part after the last, all are
            corrected.
        revises: Part with which the two parts before it are revised.
        settings: Of continuous training, besides the usual ones.
    """

    place: Path
    values: dict[str, Any]
    first: int
    parts: int
    rows_per_part: int
    hours: int = 1
    breaks: tuple[int, ...] = ()
    revises: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.place / "in").mkdir(parents=True)

    def config(self) -> ContinuousConfig:
        """Return the settings."""
        values: dict[str, Any] = {
            "name": "load",
            "registry": str(self.place / "models"),
            "source": {"name": "files", "path": str(self.place / "in" / "*.parquet")},
            "data": {"time": "hour"},
            "model": {"name": "nlinear"},
            "training": {"max_steps": 120, "early_stopping": "none", "device": "cpu"},
        }
        return ContinuousConfig.from_dict({**values, **self.settings})

    def begin(self) -> Continuous:
        """Write the first parts, and make the directory of continuous training."""
        self.rows(range(self.first)).write_parquet(self.place / "in" / "first.parquet")
        return Continuous.init(self.place / "load", self.config())

    def arrive(self, part: int) -> None:
        """Write the rows of a part, as they arrive."""
        rows = self.rows([part])
        if part in self.breaks:
            rows = rows.with_columns(pl.col("y") * 1000)
        self._write(part, rows)
        if self.breaks and part == max(self.breaks) + 1:
            for broken in self.breaks:
                self._write(broken, self.rows([broken]))
        if part == self.revises:
            for earlier in (part - 2, part - 1):
                self._write(earlier, self.rows([earlier]).with_columns(pl.col("y") * 1.001))

    def now(self, part: int) -> datetime:
        """Return the time at which the rows of a part are there."""
        return BEGIN.replace(tzinfo=UTC) + timedelta(hours=(part + 1) * self.rows_per_part * self.hours)

    def rows(self, parts: Any) -> pl.DataFrame:
        """Return the true rows of some parts."""
        size = self.rows_per_part
        places = np.concatenate([np.arange(part * size, (part + 1) * size) for part in parts])
        times = [BEGIN + timedelta(hours=self.hours * int(place)) for place in places]
        parts = [
            pl.DataFrame({"unique_id": [name] * len(places), "hour": times, "y": y[places]})
            for name, y in self.values.items()
        ]
        return pl.concat(parts)

    def _write(self, part: int, rows: pl.DataFrame) -> None:
        path = self.place / "in" / f"{part:04d}.parquet"
        rows.write_parquet(path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)

    def summary(self) -> dict[str, Any]:
        """Return what has become of it: versions with their weights, aliases, their history, and decisions."""
        with Registry(self.place / "models", create=False) as registry:
            versions = [
                {
                    "number": item.number,
                    "version": item.version,
                    "parent": item.parent,
                    "data": item.data,
                    "gate": item.gate,
                    "weights": _weights(item.load()),
                }
                for item in sorted(registry.list("load"), key=lambda item: item.number)
            ]
            history = [(change.alias, change.after, change.reason) for change in registry.history("load")]
            aliases = registry.aliases("load")
        decisions = [(item.kind, item.sentence, item.at) for item in Continuous(self.place / "load").decisions()]
        return {"versions": versions, "aliases": aliases, "history": history, "decisions": decisions}


def small_world(place: Path, *, days: int = 44, changes: int | None = 34, **faults: Any) -> World:
    """Return a world of three series; from the day of the change on days alternate, which must be learned."""
    hours = np.arange(days * PER_DAY)
    generator = np.random.default_rng(5)
    values = {}
    for number in range(3):
        y = 20 + 4 * np.sin(2 * np.pi * hours / PER_DAY + number) + 0.5 * generator.normal(size=len(hours))
        values[f"s{number}"] = y if changes is None else with_alternating_days(y, changes * PER_DAY, PER_DAY, 4.0)
    settings = {
        "task": {"horizon": 6, "input_size": 24, "season_length": PER_DAY},
        "updates": {"steps": 60},
        "triggers": {"every_rows": 20 * PER_DAY},
    }
    return World(place, values, 30, days, PER_DAY, hours=2, settings=settings, **faults)


def with_alternating_days(y: Any, begin: int, per_day: int, size: float) -> Any:
    """Return values to which something is added on every other day from a row on, and subtracted on the others."""
    row = np.arange(len(y))
    return y + np.where(row >= begin, np.where((row // per_day) % 2 == 0, size, -size), 0.0)


def live(world: World, server: TickServer, *, kills: bool = False) -> dict[str, Any]:
    """Let all parts arrive, and return what has become of it."""
    world.begin()
    for part in range(world.first - 1, world.parts):
        if part >= world.first:
            world.arrive(part)
        server.tick(world, part, kills=kills)
    return world.summary()


def _weights(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.fitted.predictor.network.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


class TickServer:
    """Runs ticks in processes of their own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.kills = 0

    def tick(self, world: World, part: int, *, kills: bool = False) -> None:
        """Run the tick of a part.

        With ``kills`` it is killed after its first step, the next one after its second, and so on, until one ends.
        """
        last_step = 1 if kills else 0
        while (code := self._run(world, part, last_step)) != 0:
            assert code == -9, f"exit code {code}"
            self.kills += 1
            last_step += 1

    def _run(self, world: World, part: int, last_step: int) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{world.place / 'load'} {world.now(part).isoformat()} {last_step}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def running_tick_server() -> Iterator[TickServer]:
    """Run a server for the block."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.lifecycle.tick_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        yield TickServer(process)
    finally:
        process.communicate(timeout=60)
