"""Keep a model up to date while data come in: a feed that breaks, and a world that changes.

Each tick reads what is new, compares forecasts with what happened, and trains and replaces the model where that is
called for. Here a day arrives per tick; in production a scheduler calls ``nd continuous tick`` every hour.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

import neuro_divergent as nd

BEGIN, PER_DAY, FIRST, CHANGE, LAST = datetime(2026, 1, 1), 12, 30, 40, 66


def day(number: int) -> pl.DataFrame:
    """Return the rows of a day, one every two hours: after the change, days alternate."""
    rows = np.arange(number * PER_DAY, (number + 1) * PER_DAY)
    noise = np.random.default_rng(number).normal(size=PER_DAY)
    shift = (4 if number % 2 else -4) if number >= CHANGE else 0
    times = [BEGIN + timedelta(hours=2 * int(row)) for row in rows]
    values = 20 + 4 * np.sin(2 * np.pi * rows / PER_DAY) + shift
    parts = [
        pl.DataFrame({"meter": [name] * PER_DAY, "time": times, "load": values + 0.5 * np.roll(noise, place)})
        for place, name in enumerate(("north", "south", "west"))
    ]
    return pl.concat(parts)


def main() -> None:
    """Let 36 days pass."""
    place = Path(tempfile.mkdtemp())
    config = nd.lifecycle.ContinuousConfig.from_dict(
        {
            "name": "load",
            "registry": str(place / "models"),
            "source": {"name": "files", "path": str(place / "*.parquet")},
            "data": {"target": "load", "time": "time", "id": "meter"},
            "model": {"name": "nlinear"},
            "task": {"horizon": 6, "input_size": 24, "season_length": PER_DAY},
            "training": {"max_steps": 150, "early_stopping": "none"},
        }
    )
    continuous = nd.lifecycle.Continuous.init(place / "load", config)
    pl.concat([day(number) for number in range(FIRST)]).write_parquet(place / "history.parquet")
    for number in range(FIRST, LAST):
        arrived = day(number)
        if number == FIRST + 3:  # somebody changed the unit; the source is corrected the next day
            arrived = arrived.with_columns(pl.col("load") * 1000)
        if number == FIRST + 4:
            day(number - 1).write_parquet(place / f"day-{number - 1:03d}.parquet")
        arrived.write_parquet(place / f"day-{number:03d}.parquet")
        result = continuous.tick(now=BEGIN.replace(tzinfo=UTC) + timedelta(days=number + 1))
        for decision in result.decisions:
            print(f"day {number}, {decision.kind}: {decision.sentence[:150]}")
    registry = nd.Registry(place / "models")
    for version in registry.list("load"):
        print(version, ", ".join(version.aliases))
    champion = registry.get("load@champion").load()
    print(champion.predict(pl.read_parquet(place / "*.parquet").sort("meter", "time")).head(3))


if __name__ == "__main__":
    main()
