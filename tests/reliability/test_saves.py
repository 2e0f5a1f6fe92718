"""A save is the old state or the new one, wherever the process is killed and whenever the power goes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.reliability.replay import Disk, read_tree, survivals, write_tree
from tests.reliability.scenarios import (
    Property,
    Recorded,
    Scenario,
    View,
    Violations,
    every_scenario,
    files_of,
    look_at_directory,
    report,
)
from tests.reliability.syscalls import Action, Call, Kill, run

SOAK = bool(os.environ.get("ND_SOAK"))


def find_after_kills(recorded: Recorded, place: Path, *, also_after: bool) -> tuple[int, Violations]:
    """Kill before each call and after the last, and look; return how often, and what was wrong."""
    scenario, found = recorded.scenario, Violations()
    last = len(recorded.calls) - 1
    kills = [(number, after) for number in range(last + 1) for after in (False, True)]
    kills = [(number, after) for number, after in kills if also_after or not after or number == last]
    for number, after in kills:
        root = place / "killed"
        write_tree(root, recorded.before)

        def decide(current: int, call: Call, number: int = number, after: bool = after) -> Action:
            return Kill(after) if current == number else scenario.refuse(call)

        assert run(lambda root=root: scenario.act(root), root, decide).was_killed
        when = f"killed {'after' if after else 'before'} call {number}, {recorded.calls[number]}"
        _look_and_go_on(recorded, root, recorded.views, when, found)
        shutil.rmtree(root)
    return len(kills), found


def find_after_power_losses(recorded: Recorded, place: Path, attempts: int) -> tuple[int, Violations]:
    """Lose power after each call in many ways, and look; return how often, and what was wrong."""
    found, count = Violations(), 0
    for survival in survivals(recorded.root, recorded.before, recorded.calls, Random(0), attempts):
        root = place / "survived"
        write_tree(root, survival.tree)
        # Once the call has come back to the user, what it did must last.
        allowed = recorded.views[-1:] if survival.is_last else recorded.views
        made = f"{survival.calls} calls" + (f", last {recorded.calls[survival.calls - 1]}" if survival.calls else "")
        _look_and_go_on(recorded, root, allowed, f"power lost after {made}", found)
        shutil.rmtree(root)
        count += 1
    return count, found


def _look_and_go_on(recorded: Recorded, root: Path, allowed: Sequence[View], when: str, found: Violations) -> None:
    """Look at what is there, tidy it, look again, and do what was interrupted once more."""
    scenario, has_seen = recorded.scenario, len(found)
    if scenario.exchanges:
        found.check(scenario, root, allowed, when)
    if scenario.tidy is not None:
        scenario.tidy(root)
        found.check(scenario, root, allowed, f"{when}, then tidied")
        left = [path.name for path in root.rglob(".*")]
        found.extend([f"{when}, then tidied: {left} are left"] if left else [])
    if len(found) == has_seen:
        scenario.act(root)
        found.check(scenario, root, recorded.views[-1:], f"{when}, then done again")


@every_scenario
def test_a_kill_at_any_call_leaves_the_old_or_the_new(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    kills, found = find_after_kills(Recorded(scenario, watched_place), watched_place, also_after=SOAK)
    report(record_property, scenario, kills=kills, violations=len(found))
    assert not found, str(found)


@every_scenario
def test_a_power_loss_after_any_call_leaves_the_old_or_the_new(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    recorded = Recorded(scenario, watched_place)
    losses, found = find_after_power_losses(recorded, watched_place, attempts=200 if SOAK else 4)
    report(record_property, scenario, calls=len(recorded.calls), power_losses=losses, violations=len(found))
    assert not found, str(found)


@every_scenario
def test_the_recorded_calls_explain_all_that_is_on_the_disk(scenario: Scenario, watched_place: Path) -> None:
    recorded = Recorded(scenario, watched_place)
    disk = Disk(recorded.root, recorded.before)
    for call in recorded.calls:
        disk.apply(call)
    assert disk.tree() == read_tree(recorded.root)


def _manifest(files: dict[str, bytes]) -> bytes:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return json.dumps({"files": digests}, indent=2).encode()


def _write_in_place(models: Path) -> None:
    """Write wrongly: where everybody looks."""
    model, files = models / "model", files_of(0, 1)
    model.mkdir()
    for name, content in {"manifest.json": _manifest(files), **files}.items():
        (model / name).write_bytes(content)


def _write_without_sync(models: Path) -> None:
    """Write wrongly: aside and renamed, but never synced."""
    work, files = models / ".work", files_of(0, 1)
    work.mkdir()
    for name, content in {**files, "manifest.json": _manifest(files)}.items():
        (work / name).write_bytes(content)
    work.rename(models / "model")


def _write_with_late_sync(models: Path) -> None:
    """Write wrongly: synced only after the rename."""
    _write_without_sync(models)
    for path in (*sorted((models / "model").iterdir()), models / "model", models):
        _sync(path)


def _write_without_syncing_names(models: Path) -> None:
    """Write wrongly: contents are synced, but not the directory that has the new name."""
    work, files = models / ".work", files_of(0, 1)
    work.mkdir()
    for name, content in {**files, "manifest.json": _manifest(files)}.items():
        (work / name).write_bytes(content)
        _sync(work / name)
    _sync(work)
    work.rename(models / "model")


def _write_rightly(models: Path) -> None:
    _write_without_syncing_names(models)
    _sync(models)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _one_model(write: Callable[[Path], None]) -> Scenario:
    def act(root: Path) -> None:
        shutil.rmtree(root / "models" / ".work", ignore_errors=True)
        if not (root / "models" / "model").exists():
            write(root / "models")

    return Scenario(write.__name__, [act], look_at_directory, before=[lambda root: (root / "models").mkdir()])


def test_kills_find_a_writer_that_writes_in_place(watched_place: Path) -> None:
    kills, found = find_after_kills(
        Recorded(_one_model(_write_in_place), watched_place), watched_place, also_after=False
    )
    assert 5 < len(found) < kills


@pytest.mark.parametrize(
    "write", [_write_in_place, _write_without_sync, _write_with_late_sync, _write_without_syncing_names]
)
def test_power_losses_find_a_writer_that_does_not_sync_in_time(
    write: Callable[[Path], None], watched_place: Path
) -> None:
    _, found = find_after_power_losses(Recorded(_one_model(write), watched_place), watched_place, attempts=4)
    assert found


def test_power_losses_find_nothing_in_a_writer_that_does(watched_place: Path) -> None:
    losses, found = find_after_power_losses(
        Recorded(_one_model(_write_rightly), watched_place), watched_place, attempts=50
    )
    assert losses > 30
    assert not found
