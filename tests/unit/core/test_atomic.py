"""Directories that are complete or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.core.atomic import MANIFEST, new_directory, verify_directory, write_file


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
    with pytest.raises(nd.UntrustedFileError):
        verify_directory(model)


def test_a_disk_that_refuses_is_a_storage_error(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(nd.StorageError, match="cannot be written"), new_directory(blocker / "model"):
        pass
    with pytest.raises(nd.StorageError, match="cannot be written"):
        write_file(blocker / "x.txt", b"")


def test_write_file_replaces_content(tmp_path: Path) -> None:
    for content in (b"one", b"two"):
        write_file(tmp_path / "x.bin", content)
    assert (tmp_path / "x.bin").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]
