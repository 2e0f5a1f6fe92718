"""Stores keep complete sets, whatever happens in between."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core.errors import InputError, MissingDependencyError, StorageError, UntrustedFileError
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.core.storage.remote import RemoteStore
from neuro_divergent.core.storage.store import Store, open_store

FILES = [("a.bin", b"one"), ("b.bin", b"")]
OTHER = [("c.bin", b"two")]
_numbers = count()


@pytest.fixture(params=["local", "file", "memory", "local://"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    places: dict[str, str | Path] = {
        "local": tmp_path / "deep" / "run",
        "file": f"file://{tmp_path}/a%20run",
        "memory": f"memory://bucket/run-{next(_numbers)}",
        "local://": f"local://{tmp_path}/run",  # fsspec's own view of a disk
    }
    return open_store(places[request.param])


def test_the_kind_of_store_follows_the_place(tmp_path: Path) -> None:
    assert isinstance(open_store(tmp_path), LocalStore)
    assert isinstance(open_store(str(tmp_path)), LocalStore)
    local = open_store(f"file://{tmp_path}/a%20run")
    assert isinstance(local, LocalStore)
    assert local.directory == tmp_path / "a run"
    assert isinstance(open_store("memory://x"), RemoteStore)


def test_what_is_written_is_read(store: Store) -> None:
    assert store.names() == []
    store.write("step-2", iter(FILES))
    store.write("step-1", OTHER)
    assert store.names() == ["step-1", "step-2"]
    assert store.read("step-2") == dict(FILES)
    store.write("step-2", OTHER)
    assert store.read("step-2") == dict(OTHER)
    assert open_store(store.place).names() == ["step-1", "step-2"]


def test_a_name_that_is_not_there(store: Store) -> None:
    with pytest.raises(UntrustedFileError, match="not found"):
        store.read("step-1")
    store.remove("step-1")
    with pytest.raises(StorageError):
        store.quarantine("step-1")


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "a\\b"])
def test_names_cannot_lead_elsewhere(store: Store, name: str) -> None:
    for act in (store.read, store.remove, store.quarantine, store.read_note, lambda name: store.write(name, FILES)):
        with pytest.raises(InputError):
            act(name)


def test_what_is_removed_is_gone(store: Store) -> None:
    store.write("one", FILES)
    store.write("two", FILES)
    store.remove("one")
    assert store.names() == ["two"]
    assert store.read("two") == dict(FILES)


def test_the_last_three_quarantined_are_kept(store: Store) -> None:
    places = []
    for number in range(5):
        store.write("step-9", [("n", b"%d" % number)])
        places.append(store.quarantine("step-9"))
        assert store.names() == []
    assert places[:3] == [f"{store.place}/set-aside/step-9{end}" for end in ("", "-2", "-3")]
    aside = open_store(f"{store.place}/set-aside")
    kept = sorted(int(aside.read(name)["n"]) for name in aside.names())
    assert kept == [2, 3, 4]


def test_notes(store: Store) -> None:
    assert store.read_note("best.json") is None
    for content in (b"one", b"two"):
        store.write_note("best.json", content)
    store.write("step-1", FILES)
    assert store.read_note("best.json") == b"two"
    assert store.names() == ["step-1"]


def test_giant_notes_are_refused(store: Store) -> None:
    store.write_note("best.json", bytes(1024**2 + 1))
    with pytest.raises(UntrustedFileError, match="at most 1,048,576 are read"):
        store.read_note("best.json")


def broken(files: list[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    yield from files
    raise KeyboardInterrupt


def test_an_interrupted_write_leaves_what_is_complete(store: Store) -> None:
    store.write("step-1", FILES)
    with pytest.raises(KeyboardInterrupt):
        store.write("step-2", broken(OTHER))
    assert store.names() == ["step-1"]
    with pytest.raises(UntrustedFileError):
        store.read("step-2")
    store.clear_leftovers()
    assert store.read("step-1") == dict(FILES)
    store.write("step-2", OTHER)
    assert store.names() == ["step-1", "step-2"]


def test_a_store_of_objects_forgets_half_written_ones_and_nothing_else() -> None:
    store = RemoteStore(f"memory://bucket/run-{next(_numbers)}")
    store.write("done", FILES)
    store._put(f"{store._root}/foreign/data.csv", b"not ours")
    with pytest.raises(KeyboardInterrupt):
        store.write("half", broken(OTHER))
    assert store._objects("half")
    # Killed between the manifest and the end of the mark: it is complete.
    store._put(store._at("unfinished", "done"), b"")
    store.clear_leftovers()
    assert not store._objects("half")
    assert not store._objects("unfinished")
    assert store.names() == ["done"]
    assert store._objects("foreign")


class Dying(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("act", ["write", "replace", "remove"])
def test_a_store_of_objects_is_complete_or_absent_at_every_request(act: str) -> None:
    """Die before each change of the store in turn: what is listed can always be read, and others are untouched."""
    for allowed in range(100):
        store = RemoteStore(f"memory://bucket/run-{next(_numbers)}")
        store.write("other", FILES)
        if act != "write":
            store.write("it", FILES)
        before = "it" in store.names()
        real, left = store._files, [allowed]

        class Mortal:
            def __getattr__(self, name: str, real: Any = real, left: list[int] = left) -> Any:
                if name in {"pipe_file", "rm_file"}:
                    left[0] -= 1
                    if left[0] < 0:
                        raise Dying
                return getattr(real, name)

        store._files = Mortal()
        try:
            store.remove("it") if act == "remove" else store.write("it", OTHER)
            finished = True
        except Dying:
            finished = False
        survivor = RemoteStore(store.place)
        survivor.clear_leftovers()
        assert survivor.read("other") == dict(FILES)
        if "it" in survivor.names():
            assert survivor.read("it") in ((dict(FILES), dict(OTHER)) if before else (dict(OTHER),))
        else:
            assert not survivor._objects("it")
        if finished:
            break
    assert finished
    assert allowed >= 4


@pytest.mark.parametrize("damage", ["flip", "missing", "manifest", "longer"])
def test_damage_in_a_store_of_objects_is_noticed(damage: str) -> None:
    store = RemoteStore(f"memory://bucket/run-{next(_numbers)}")
    store.write("it", FILES)
    changes = {"flip": b"onE", "longer": b"one more"}
    if damage in changes:
        store._put(store._at("it", "a.bin"), changes[damage])
    elif damage == "missing":
        store._files.rm_file(store._at("it", "a.bin"))
    else:
        store._put(store._at("it", MANIFEST), b"{}")
    with pytest.raises(UntrustedFileError):
        store.read("it")


def test_errors_of_a_driver_are_errors_of_storage() -> None:
    store = RemoteStore(f"memory://bucket/run-{next(_numbers)}")
    store.write("it", FILES)

    class Offline:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no route to host")

    store._files = Offline()
    for act in (lambda: store.write("it", FILES), lambda: store.read("it"), store.names, lambda: store.remove("it")):
        with pytest.raises(StorageError, match=f"^{store.place}.*no route to host"):
            act()


def test_unknown_urls_and_missing_drivers_are_told() -> None:
    with pytest.raises(InputError, match=r"^nowhere://x: "):
        open_store("nowhere://x")
    code = (
        "import sys; sys.modules['s3fs'] = None; sys.modules['fsspec.core'] = None if len(sys.argv) > 1 else "
        "__import__('fsspec.core').core\n"
        "from neuro_divergent.core.storage.store import open_store\n"
        "try:\n    open_store('s3://bucket/run')\n"
        "except ImportError as error:\n    print(type(error).__name__, error)\n"
        "print('torch' in sys.modules)"
    )
    for arguments in ([], ["without"]):
        run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert run.stdout.startswith(MissingDependencyError.__name__)
        assert 'pip install "neuro-divergent[s3]"' in run.stdout
        assert run.stdout.endswith("False\n")


def test_a_full_disk_is_told_with_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    store.write("old", FILES)
    before = store.read("old")
    real = os.fsync

    def full(handle: int) -> None:
        if "b.bin" in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    content = [("a.bin", bytes(1_000_000)), ("b.bin", bytes(500_000)), ("c.bin", bytes(3_000_000))]
    with pytest.raises(
        StorageError, match=r"old: cannot be written: No space left on device; needs 4.5 MB, .* free\.$"
    ):
        store.write("old", content)
    monkeypatch.undo()
    assert store.read("old") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]
    assert store.free_bytes() == pytest.approx(os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize, rel=0.1)


def test_a_directory_without_a_manifest_does_not_exist(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write("it", FILES)
    (tmp_path / "it" / MANIFEST).unlink()
    assert store.names() == []
    store.write("it", OTHER)
    assert store.read("it") == dict(OTHER)
