"""Two years of continuous training on real data, with a change, a broken feed, revisions and kills; in minutes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.replay import Replay
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.lifecycle.continuous.forecasts import ForecastStore
from neuro_divergent.lifecycle.continuous.journal import Journal
from tests.integration.lifecycle.continuous_world import (
    TickServer,
    World,
    live,
    running_tick_server,
    with_alternating_days,
)

DATA = Path(__file__).parents[4] / "shared" / "data"
WEEK = 168
FIRST, WEEKS, CHANGE = 52, 156, 104
SETTINGS: dict[str, Any] = {
    "task": {"horizon": 24, "input_size": 168},
    "training": {"max_steps": 300, "early_stopping": "none", "device": "cpu"},
    "triggers": {"every_rows": 8 * WEEK},
}
pytestmark = [
    pytest.mark.long,
    pytest.mark.shared_data,
    pytest.mark.skipif(not os.environ.get("ND_SOAK"), reason="takes minutes: 'make soak' runs it"),
    pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[TickServer]:
    with running_tick_server() as server:
        yield server


def electricity() -> dict[str, Any]:
    """Return the hourly demand of Victoria, where days alternate from the second year on."""
    frame = pl.read_parquet(DATA / "vic_elec.parquet").sort("ds")
    hourly = frame.group_by_dynamic("ds", every="1h").agg(pl.col("y").mean())["y"].to_numpy().astype(np.float64)
    y = hourly[: WEEKS * WEEK]
    return {"VIC": with_alternating_days(y, CHANGE * WEEK, 24, float(y.std()))}


def prices() -> dict[str, Any]:
    """Return hourly prices of two markets, where days alternate from the second year on."""
    frame = pl.read_parquet(DATA / "epf.parquet").sort("ds")
    found = {}
    for name in ("NP", "PJM"):
        y = frame.filter(pl.col("unique_id") == name)["y"].to_numpy().astype(np.float64)[: WEEKS * WEEK]
        found[name] = with_alternating_days(y, CHANGE * WEEK, 24, float(y.std()))
    return found


def world_of(place: Path, values: dict[str, Any]) -> World:
    return World(place, values, FIRST, WEEKS, WEEK, breaks=(70, 71), revises=80, settings=SETTINGS)


def champion_errors(world: World) -> dict[int, float]:
    """Return the mean scaled error of the champion of the time, by week."""
    store, found = ForecastStore(world.place / "load" / "forecasts"), {}
    with Journal(world.place / "load") as journal:
        promoted = [
            (item.at, item.evidence.get("shadow", item.evidence.get("version")))
            for item in journal.decisions()
            if item.kind in ("promoted", "rolled back")
        ]
        for week in range(FIRST, WEEKS):
            begin = world.now(week - 1).isoformat()
            version = [number for at, number in promoted if at <= begin][-1]
            first = (week - FIRST) * WEEK
            origins = [origin for origin in journal.origins(version) if first <= origin < first + WEEK]
            if origins:
                found[week] = scaled_error(world, store.read(version, origins))
    return found


def scaled_error(world: World, forecasts: pl.DataFrame) -> float:
    """Return the mean absolute error, divided by the standard deviation of each series."""
    truth = world.rows(range(WEEKS)).rename({"y": "actual"})
    scale = pl.DataFrame({"unique_id": list(world.values), "scale": [float(np.std(y)) for y in world.values.values()]})
    joined = forecasts.join(truth, on=["unique_id", "hour"]).join(scale, on="unique_id")
    return float(joined.select(((pl.col("forecast") - pl.col("actual")).abs() / pl.col("scale")).mean()).item())


def oracle_error(world: World, weeks: range) -> float:
    """Return the error of a model that is trained again each week, and knows when the change was."""
    first = Forecaster("nlinear", training=world.config().run.training, **dict(world.config().run.task))
    first.fit(world.rows(range(CHANGE)), time="hour")
    errors = []
    for week in weeks:
        rows = (week - CHANGE) * WEEK
        model = first.with_settings({"task.replay": Replay(rows=rows, fraction=0.2), "task.validation": 0})
        model.fit(world.rows(range(week)), time="hour", initial=first)
        parts = []
        for day in range(7):
            known = world.rows(range(week + 1)).sort("unique_id", "hour")
            end = (week * 7 + day) * 24
            known = known.group_by("unique_id", maintain_order=True).head(end)
            parts.append(model.predict(known))
        errors.append(scaled_error(world, pl.concat(parts)))
    return float(np.mean(errors))


@pytest.mark.parametrize("values", [electricity, prices], ids=["electricity", "prices"])
def test_two_years_with_a_kill_after_every_step_end_as_without_and_recover_from_the_change(
    values: Any, tmp_path: Path, server: TickServer
) -> None:
    calm = world_of(tmp_path / "calm", values())
    expected = live(calm, server)
    before = server.kills
    killed = live(world_of(tmp_path / "killed", values()), server, kills=True)
    kills = server.kills - before
    assert kills > 300
    assert str(killed).replace("killed", "calm") == str(expected)
    assert [kind for kind, _, _ in expected["decisions"]].count("incident") == 2
    errors = champion_errors(calm)
    late = range(WEEKS - 13, WEEKS)
    ours, oracle = float(np.mean([errors[week] for week in late])), oracle_error(calm, late)
    told = {
        "kills": kills,
        "before the change": float(np.mean([errors[week] for week in range(90, CHANGE)])),
        "the month after": float(np.mean([errors[week] for week in range(CHANGE + 1, CHANGE + 5)])),
        "last quarter": ours,
        "oracle": oracle,
        "decisions": [f"{at[:10]} {kind}: {sentence}" for kind, sentence, at in expected["decisions"]],
    }
    (tmp_path / "result.json").write_text(json.dumps(told, indent=1))
    assert ours <= 1.1 * oracle
