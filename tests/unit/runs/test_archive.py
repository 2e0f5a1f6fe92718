"""A run as one file, opened with the standard library."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.runs.archive import write_archive
from tests.unit.runs.runs import make_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = make_run(tmp_path / "runs" / "a")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner").write_text("secret")
    (run / "link").symlink_to(tmp_path / "secret")
    (run / "linked").symlink_to(tmp_path / "folder")
    (run / "model" / "link").symlink_to(tmp_path / "secret")
    (run / ".events.partial-x").write_text("")
    (run / "lock").write_text("")
    (run / "control").mkdir()
    (run / "control" / "stop").write_text("")
    os.mkfifo(run / "pipe")
    os.utime(run / "config.toml", (0, 0))  # before there were archives
    return run


SENT = (
    "config.toml",
    "events.jsonl",
    "run.json",
    "scores.json",
    "status.json",
    "model/manifest.json",
    "model/model.json",
)


@pytest.mark.parametrize("name", ["a.zip", "b.tar.gz", "c.TGZ"])
def test_an_archive_has_the_files_of_the_run_and_nothing_else(run: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "out" / name
    assert write_archive(run, path) == len(SENT)
    if name.endswith("zip"):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            found = {item.filename: archive.read(item) for item in archive.infolist()}
    else:
        with tarfile.open(path) as archive:
            members = archive.getmembers()
            assert all(item.isreg() and (item.uid, item.uname, item.mode) == (0, "", 0o644) for item in members)
            found = {item.name: archive.extractfile(item).read() for item in members}  # type: ignore[union-attr]
    assert found == {f"a/{name}": (run / name).read_bytes() for name in SENT}
    assert list(path.parent.iterdir()) == [path]


def test_an_archive_is_not_written_into_the_run_or_as_something_else(run: Path) -> None:
    with pytest.raises(InputError, match="inside of the run"):
        write_archive(run, run / "a.zip")
    with pytest.raises(InputError, match=r"\.zip or \.tar\.gz"):
        write_archive(run, run.parent / "a.rar")


def test_a_disk_that_refuses_leaves_nothing_behind(run: Path, tmp_path: Path) -> None:
    (tmp_path / "taken.zip").mkdir()
    with pytest.raises(StorageError, match=r"taken\.zip"):
        write_archive(run, tmp_path / "taken.zip")
    assert not list(tmp_path.glob(".*"))
