"""Continuous training from files to a registry, with changes, broken feeds, revisions and kills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.lifecycle.continuous.continuous import Continuous
from neuro_divergent.lifecycle.continuous.status import read_status
from tests.integration.lifecycle.continuous_world import (
    PER_DAY,
    TickServer,
    World,
    live,
    running_tick_server,
    small_world,
)


@pytest.fixture(scope="module")
def server() -> Iterator[TickServer]:
    with running_tick_server() as server:
        yield server


FAULTS: dict[str, Any] = {"breaks": (31, 32), "revises": 40}


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory, server: TickServer) -> tuple[World, dict[str, Any]]:
    """A world of two weeks that nobody disturbed."""
    world = small_world(tmp_path_factory.mktemp("short"), **FAULTS)
    return world, live(world, server)


def test_first_tick_trains_and_promotes_and_the_next_without_new_rows_does_nothing(tmp_path: Path) -> None:
    world = small_world(tmp_path, days=30, changes=None)
    continuous = world.begin()
    first = continuous.tick(now=world.now(29))
    assert [decision.kind for decision in first.decisions] == ["training", "promoted"]
    again = continuous.tick(now=world.now(29))
    assert (again.decisions, again.steps) == ([], [])
    assert read_status(tmp_path / "load").attempts[0]["state"] == "champion"


@pytest.mark.long
def test_rows_of_a_broken_feed_are_kept_out_until_they_are_corrected(short: tuple[World, dict[str, Any]]) -> None:
    world, summary = short
    incidents = [sentence for kind, sentence, _ in summary["decisions"] if kind == "incident"]
    assert len(incidents) == 2
    assert "multiplied by about 1,000" in incidents[0]
    from neuro_divergent.lifecycle.continuous.observations import Observations

    continuous = Continuous(world.place / "load")
    batches = read_status(world.place / "load").batches
    view = Observations(world.place / "load" / "observations", continuous.config.run.data.schema_fields).view(batches)
    assert view is not None
    assert view["y"].max() < 100  # type: ignore[operator]
    assert view.height == 3 * world.parts * PER_DAY  # the corrected rows are there


@pytest.mark.long
def test_training_after_a_change_is_begun_because_of_drift(short: tuple[World, dict[str, Any]]) -> None:
    _, summary = short
    trainings = [sentence for kind, sentence, _ in summary["decisions"] if kind == "training"]
    assert len(trainings) >= 2
    assert "errors of version 1 have changed" in trainings[1]
    assert summary["versions"][1]["version"] == "1.0.1"  # the same recipe on new data
    assert summary["versions"][1]["parent"] == 1


@pytest.mark.long
def test_kill_after_every_step_gives_the_registry_and_decisions_of_no_kill(
    tmp_path: Path, server: TickServer, short: tuple[World, dict[str, Any]]
) -> None:
    before = server.kills
    killed = live(small_world(tmp_path, **FAULTS), server, kills=True)
    assert server.kills - before > 30
    expected = short[1]
    assert killed == _moved(expected, short[0].place, tmp_path)


def _moved(summary: Any, before: Path, after: Path) -> Any:
    """Return the summary of a world as if it had been elsewhere."""
    if isinstance(summary, dict):
        return {key: _moved(value, before, after) for key, value in summary.items()}
    if isinstance(summary, list | tuple):
        return type(summary)(_moved(value, before, after) for value in summary)
    return summary.replace(str(before), str(after)) if isinstance(summary, str) else summary
