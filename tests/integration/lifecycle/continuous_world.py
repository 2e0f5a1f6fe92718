"""A small world for continuous training: series whose rows arrive day by day, with everything that goes wrong."""

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
"""Rows of a day: one every two hours."""


@dataclass
class World:
    """Rows of some series by day.

    Attributes:
        place: Where everything is.
        first: Days that are there at the beginning.
        days: Days in all.
        changes: Day from which on days alternate, which a model can only learn by training; none if unset.
        breaks: Days whose values are multiplied by 1,000 when they arrive; the day after the last, all are corrected.
        revises: Day on which the five days before are revised.
    """

    place: Path
    first: int = 30
    days: int = 60
    changes: int | None = None
    breaks: tuple[int, ...] = ()
    revises: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hours = np.arange(self.days * PER_DAY)
        day = hours // PER_DAY
        generator = np.random.default_rng(5)
        self.values = {}
        for place in range(3):
            y = 20 + 4 * np.sin(2 * np.pi * hours / PER_DAY + place) + 0.5 * generator.normal(size=len(hours))
            if self.changes is not None:
                y += np.where(day >= self.changes, np.where(day % 2 == 0, 4.0, -4.0), 0.0)
            self.values[f"s{place}"] = y
        (self.place / "in").mkdir(parents=True)

    def config(self) -> ContinuousConfig:
        """Return the settings."""
        values: dict[str, Any] = {
            "name": "load",
            "registry": str(self.place / "models"),
            "source": {"name": "files", "path": str(self.place / "in" / "*.parquet")},
            "data": {"time": "hour"},
            "model": {"name": "nlinear"},
            "task": {"horizon": 6, "input_size": 24, "season_length": PER_DAY},
            "training": {"max_steps": 120, "early_stopping": "none", "device": "cpu"},
            "updates": {"steps": 60},
            "triggers": {"every_rows": 20 * PER_DAY},
        }
        return ContinuousConfig.from_dict({**values, **self.settings})

    def begin(self) -> Continuous:
        """Write the first days, and make the directory of continuous training."""
        self.rows(range(self.first)).write_parquet(self.place / "in" / "first.parquet")
        return Continuous.init(self.place / "load", self.config())

    def arrive(self, day: int) -> None:
        """Write the rows of a day, as they arrive."""
        rows = self.rows([day])
        if day in self.breaks:
            rows = rows.with_columns(pl.col("y") * 1000)
        self._write(day, rows)
        if self.breaks and day == max(self.breaks) + 1:
            for broken in self.breaks:
                self._write(broken, self.rows([broken]))
        if day == self.revises:
            for earlier in range(day - 5, day):
                self._write(earlier, self.rows([earlier]).with_columns(pl.col("y") + 0.01))

    def now(self, day: int) -> datetime:
        """Return the time at which the rows of a day are there."""
        return BEGIN.replace(tzinfo=UTC) + timedelta(days=day + 1)

    def rows(self, days: Any) -> pl.DataFrame:
        """Return the true rows of some days."""
        places = np.concatenate([np.arange(day * PER_DAY, (day + 1) * PER_DAY) for day in days])
        times = [BEGIN + timedelta(hours=2 * int(place)) for place in places]
        parts = [
            pl.DataFrame({"unique_id": [name] * len(places), "hour": times, "y": y[places]})
            for name, y in self.values.items()
        ]
        return pl.concat(parts)

    def _write(self, day: int, rows: pl.DataFrame) -> None:
        path = self.place / "in" / f"{day:04d}.parquet"
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

    def tick(self, world: World, day: int, *, kills: bool = False) -> None:
        """Run the tick of a day.

        With ``kills`` it is killed after its first step, the next one after its second, and so on, until one ends.
        """
        last_step = 1 if kills else 0
        while (code := self._run(world, day, last_step)) != 0:
            assert code == -9, f"exit code {code}"
            self.kills += 1
            last_step += 1

    def _run(self, world: World, day: int, last_step: int) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{world.place / 'load'} {world.now(day).isoformat()} {last_step}\n")
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
