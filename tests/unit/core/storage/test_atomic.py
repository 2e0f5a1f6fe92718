"""Directories that are complete or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.core.storage import atomic
from neuro_divergent.core.storage.atomic import (
    MANIFEST,
    clear_leftovers,
    new_directory,
    read_directory,
    read_file,
    remove_directory,
    verify_directory,
    write_directory,
    write_file,
)
from neuro_divergent.core.storage.swap import swap_paths


def test_a_finished_directory_is_complete_and_verified(tmp_path: Path) -> None:
    with new_directory(tmp_path / "model") as work:
        (work / "a.txt").write_text("a")
        assert not (tmp_path / "model").exists()
    verify_directory(tmp_path / "model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    with new_directory(tmp_path / "model") as work:
        (work / "a.txt").write_text("old")

    def interrupted() -> None:
        with new_directory(tmp_path / "model") as work:
            (work / "a.txt").write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert (tmp_path / "model" / "a.txt").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_second_write_replaces_the_first(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with new_directory(tmp_path / "model") as work:
            (work / f"{text}.txt").write_text(text)
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"new.txt", MANIFEST}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize("harm", ["change", "remove", "add", "manifest"])
def test_harm_is_noticed(tmp_path: Path, harm: str) -> None:
    with new_directory(tmp_path / "model") as work:
        (work / "a.txt").write_text("a")
        (work / "b.txt").write_text("b")
    model = tmp_path / "model"
    if harm == "change":
        (model / "a.txt").write_text("x")
    elif harm == "remove":
        (model / "a.txt").unlink()
    elif harm == "add":
        (model / "c.txt").write_text("c")
    else:
        (model / MANIFEST).write_text("[]")
    with pytest.raises(nd.errors.UntrustedFileError):
        verify_directory(model)


def test_a_disk_that_refuses_is_a_storage_error(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(nd.errors.StorageError, match="cannot be written"), new_directory(blocker / "model"):
        pass
    with pytest.raises(nd.errors.StorageError, match="cannot be written"):
        write_file(blocker / "x.txt", b"")


def test_write_file_replaces_content(tmp_path: Path) -> None:
    for content in (b"one", b"two"):
        write_file(tmp_path / "x.bin", content)
    assert (tmp_path / "x.bin").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]


def test_what_others_wrote_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name in ("home", "file"):
        with pytest.raises(nd.errors.InputError, match="holds something else"):
            write_directory(tmp_path / name, [("a", b"")])
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    write_directory(tmp_path / "empty", [("a", b"")])
    assert read_directory(tmp_path / "empty") == {"a": b""}


@pytest.mark.parametrize("can_swap", [True, False])
def test_replacing_is_atomic_with_and_without_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_swap: bool
) -> None:
    if not can_swap:
        monkeypatch.setattr(atomic, "swap_paths", lambda one, other: False)
    for content in (b"old", b"new"):
        write_directory(tmp_path / "model", [("a", content)])
    assert read_directory(tmp_path / "model") == {"a": b"new"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_two_names_change_places(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if swap_paths(tmp_path / "one", tmp_path / "two"):
        assert (tmp_path / "one" / "two").exists()
        assert (tmp_path / "two" / "one").exists()
    assert not swap_paths(tmp_path / "one", tmp_path / "missing")
    assert (tmp_path / "one").exists()


def test_a_replaced_directory_comes_back_if_its_successor_never_arrived(tmp_path: Path) -> None:
    """What a process leaves that is killed between two renames, where names cannot be exchanged."""
    write_directory(tmp_path / "model", [("a", b"old")])
    (tmp_path / "model").rename(tmp_path / ".model.replaced-abcd1234")
    (tmp_path / ".model.partial-abcd1234").mkdir()
    (tmp_path / ".best.json.partial-x").touch()
    (tmp_path / ".hidden-of-the-user").touch()
    clear_leftovers(tmp_path)
    assert read_directory(tmp_path / "model") == {"a": b"old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden-of-the-user", "model"]
    clear_leftovers(tmp_path / "missing")


@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "missing"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str) -> None:
    write_directory(tmp_path / "model", [("a", b"x")])
    path = tmp_path / "model" / "a"
    path.unlink()
    if kind == "link":
        (tmp_path / "elsewhere").write_bytes(b"x")
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    for read in (read_directory, verify_directory):
        with pytest.raises(nd.errors.UntrustedFileError):
            read(tmp_path / "model")
    with pytest.raises(nd.errors.UntrustedFileError):
        read_file(path)


def test_the_manifest_must_be_a_regular_file(tmp_path: Path) -> None:
    write_directory(tmp_path / "model", [("a", b"x")])
    manifest = tmp_path / "model" / MANIFEST
    manifest.rename(tmp_path / "elsewhere")
    manifest.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(nd.errors.UntrustedFileError, match="is a link"):
        read_directory(tmp_path / "model")


def test_a_file_larger_than_the_memory_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**43)
    with pytest.raises(nd.errors.UntrustedFileError, match="8,796,093,022,208 bytes, at most"):
        read_file(tmp_path / "large")
    with pytest.raises(nd.errors.UntrustedFileError, match="at most 10 are read"):
        read_file(tmp_path / "large", limit=10)


def test_some_files_can_be_left_unread(tmp_path: Path) -> None:
    write_directory(tmp_path / "model", [("a", b"x"), ("b", b"yy")])
    (tmp_path / "model" / "b").write_bytes(b"zz")
    assert read_directory(tmp_path / "model", ["a"]) == {"a": b"x"}
    (tmp_path / "model" / "b").write_bytes(b"zzz")
    with pytest.raises(nd.errors.UntrustedFileError, match="3 bytes, the manifest lists 2"):
        read_directory(tmp_path / "model", ["a"])


def test_what_is_removed_is_never_half_there(tmp_path: Path) -> None:
    for _ in range(2):
        write_directory(tmp_path / "model", [("a", b"x")])
        (tmp_path / ".model.removed-0").mkdir(exist_ok=True)  # of a process that was killed
        (tmp_path / ".model.removed-0" / "a").touch()
        remove_directory(tmp_path / "model")
    remove_directory(tmp_path / "model")
    assert not list(tmp_path.iterdir())
