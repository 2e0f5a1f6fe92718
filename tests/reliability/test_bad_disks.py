"""Disks that really are full, read-only or not ours: small ones are mounted, rights and limits are really lost."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from neuro_divergent.core.errors import StorageError
from neuro_divergent.core.formatting import format_bytes
from tests.reliability.apart import give_up_rights, mount_memory, remount, run_apart
from tests.reliability.scenarios import (
    Scenario,
    look_at_directory,
    look_at_store,
    mark,
    save_directory,
    write,
)

TO_STORE = Scenario("checkpoint", [write(2)], look_at_store, [write(1), mark(1)])
OVER = Scenario("checkpoint over another", [write(1, version=1)], look_at_store, [write(1), mark(1)])
TO_DIRECTORY = Scenario("model over another", [save_directory(2)], look_at_directory, [save_directory(1)])
every_save = pytest.mark.parametrize("scenario", [TO_STORE, OVER, TO_DIRECTORY], ids=str)


def fail_and_recover(scenario: Scenario, root: Path, spoil: Callable[[], object], mend: Callable[[], object]) -> str:
    """Save, spoil the disk, save again, see that nothing has changed, mend it, and save; return the message."""
    scenario.prepare(root)
    views = scenario.views()
    before = scenario.look(root)
    spoil()
    with pytest.raises(StorageError) as caught:
        scenario.act(root)
    assert scenario.look(root) == before == views[0]
    mend()
    scenario.act(root)
    assert scenario.look(root) == views[-1]
    assert not list(root.rglob(".*"))
    return str(caught.value)


def fill(path: Path, leave: int) -> None:
    """Write a file until there is only so much left."""
    with path.open("wb") as file:
        status = os.statvfs(path)
        file.write(b"\0" * (status.f_bavail * status.f_frsize - leave))


@every_save
@pytest.mark.parametrize("leave", [0, 8_192, 20_480])
def test_a_full_disk_is_told_with_what_is_needed_and_free(scenario: Scenario, leave: int, mount_place: Path) -> None:
    def attempt() -> str:
        mount_memory(mount_place, "size=256k")
        filler = mount_place / "filler"
        return fail_and_recover(scenario, mount_place, lambda: fill(filler, leave), filler.unlink)

    message = run_apart(attempt)
    assert "No space left on device" in message
    assert f"{format_bytes(leave)} free" in message
    if scenario is not TO_DIRECTORY:  # which has no list of its files before they are written
        assert "needs 20.3 kB" in message


@every_save
def test_a_disk_without_room_for_more_files_is_told(scenario: Scenario, mount_place: Path) -> None:
    fillers = [mount_place / f"filler-{number}" for number in range(40)]

    def spoil() -> None:
        for filler in fillers:
            if not os.statvfs(mount_place).f_ffree:
                return
            filler.touch()

    def attempt() -> str:
        mount_memory(mount_place, "size=1m,nr_inodes=30")
        return fail_and_recover(
            scenario, mount_place, spoil, lambda: [filler.unlink(missing_ok=True) for filler in fillers]
        )

    assert "No space left on device" in run_apart(attempt)


@every_save
def test_a_disk_that_became_read_only_is_told(scenario: Scenario, mount_place: Path) -> None:
    def attempt() -> str:
        mount_memory(mount_place, "size=1m")
        return fail_and_recover(
            scenario,
            mount_place,
            lambda: remount(mount_place, writable=False),
            lambda: remount(mount_place, writable=True),
        )

    assert "Read-only file system" in run_apart(attempt)


@every_save
def test_a_permission_that_was_lost_is_told(scenario: Scenario) -> None:
    with TemporaryDirectory() as made:  # unlike the directories of pytest, in one that everybody may enter
        root = Path(made)
        place = root / ("models" if scenario is TO_DIRECTORY else "checkpoints")

        def attempt() -> str:
            give_up_rights(root)
            return fail_and_recover(scenario, root, lambda: place.chmod(0o500), lambda: place.chmod(0o755))

        assert "Permission denied" in run_apart(attempt)


@every_save
def test_a_limit_of_the_size_of_files_is_told(scenario: Scenario, tmp_path: Path) -> None:
    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def attempt() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return fail_and_recover(scenario, tmp_path, lambda: limit(10_000), lambda: limit(resource.RLIM_INFINITY))

    assert "File too large" in run_apart(attempt)
