"""Differential checkpoints under kills, power losses and refusals: complete or absent, and what is shared stays."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from neuro_divergent.core.storage.reusable import Content, Reusable
from neuro_divergent.core.storage.store import open_store
from tests.reliability.scenarios import (
    Property,
    Recorded,
    Scenario,
    Step,
    look_at_store,
    mark,
    name_of,
    remove,
    report,
    tidy_store,
)
from tests.reliability.test_saves import find_after_kills, find_after_power_losses
from tests.reliability.test_storage_errors import ERRORS, Attempts, refusing

SOAK = bool(os.environ.get("ND_SOAK"))
KILLS = 1000 if SOAK else 40
ROOT = Path(__file__).parents[2]
_MEMORY = Path("/dev/shm")


def write(step: int, since: int | None) -> Step:
    """Write a checkpoint whose backbone never changes and whose head does, as the trainer does."""

    def files() -> Iterator[tuple[str, Content]]:
        for seed, size in ((b"backbone", 20_000), (b"frozen", 300), (b"head %d" % step, 5_000)):
            content = hashlib.shake_256(seed).digest(size)
            name = f"tensor-{hashlib.sha256(content).hexdigest()}.safetensors"
            yield name, content if since is None else Reusable(name_of(since), lambda content=content: content)
        yield "state.json", b'{"step": %d}' % step

    return lambda root: open_store(root / "checkpoints").write(name_of(step), files())


BEFORE = [write(1, None), write(2, 1), mark(1)]
SCENARIOS = [
    Scenario("differential save", [write(3, 2)], look_at_store, BEFORE, tidy_store),
    Scenario("differential save over a name", [write(2, 1)], look_at_store, BEFORE, tidy_store),
    Scenario(
        "differential save, note and removal of what it shares",
        [write(3, 2), mark(3), remove(2), remove(1)],
        look_at_store,
        BEFORE,
        tidy_store,
    ),
]
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


@every_scenario
def test_kill_at_any_call_leaves_the_old_or_the_new(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    recorded = Recorded(scenario, watched_place)
    assert sum(call.name == "link" for call in recorded.calls) == 2
    kills, found = find_after_kills(recorded, watched_place, also_after=SOAK)
    report(record_property, scenario, kills=kills, violations=len(found))
    assert not found, str(found)


@every_scenario
def test_power_loss_after_any_call_leaves_the_old_or_the_new(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    recorded = Recorded(scenario, watched_place)
    losses, found = find_after_power_losses(recorded, watched_place, attempts=200 if SOAK else 4)
    report(record_property, scenario, calls=len(recorded.calls), power_losses=losses, violations=len(found))
    assert not found, str(found)


@every_scenario
def test_call_that_fails_is_told_or_made_up_for(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    attempts = Attempts(scenario, watched_place)
    for number, call in enumerate(attempts.recorded.calls):
        for turn, error in enumerate(ERRORS):
            if not SOAK and number % len(ERRORS) != turn:
                continue
            attempts.run(refusing(number, error, lasting=False), f"{os.strerror(error)} at call {number}, {call}")
    report(record_property, scenario, raised=attempts.raised, returned=attempts.returned)
    assert not attempts.found, str(attempts.found)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_training_killed_at_any_moment_ends_with_the_weights_of_one_that_was_not(record_property: Property) -> None:
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as place:
        command = [sys.executable, "-W", "error", "-m", "tests.reliability.differential_run", place, str(KILLS), "7"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    for name, count in told.items():
        record_property(name, count)
    print(told)  # noqa: T201
    assert told["kills"] >= KILLS
    assert told["shared"] > 0
