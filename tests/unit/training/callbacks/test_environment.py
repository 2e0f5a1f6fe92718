"""What a run is made with, as its file tells."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from neuro_divergent.core.environment import describe_commit
from neuro_divergent.core.errors import StorageWarning
from neuro_divergent.core.storage.regular_file import read_json
from neuro_divergent.training.callbacks.environment import EnvironmentNote
from tests.unit.training.callbacks.example import line, trainer


def git(*words: str, directory: Path) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *settings, *words], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git("init", "--quiet", directory=tmp_path)
    (tmp_path / "train.py").write_text("one")
    git("add", ".", directory=tmp_path)
    git("commit", "--quiet", "--message", "first", directory=tmp_path)
    return tmp_path


def test_the_file_has_versions_machine_commit_and_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "argv", ["nd", "train", "sales.csv", "bad-\udcff-byte"])
    path = project / "runs" / "environment.json"
    trainer(EnvironmentNote(path)).fit(line())
    found = read_json(path)
    assert found["python"] == platform.python_version()
    assert found["machine"] == platform.machine()
    assert {name: found["packages"][name] for name in ("torch", "polars")} == {
        name: version(name) for name in ("torch", "polars")
    }
    assert (found["device"], found["threads"]) == ("cpu", 1)
    assert found["project"] == {"commit": git("rev-parse", "HEAD", directory=project), "has_changes": False}
    assert found["command"] == ["nd", "train", "sales.csv", "bad-?-byte"]


def test_changes_of_the_project_are_told_and_new_files_are_not(project: Path) -> None:
    (project / "runs").mkdir()
    (project / "runs" / "new").write_text("")
    commit = git("rev-parse", "HEAD", directory=project)
    assert describe_commit(project) == {"commit": commit, "has_changes": False}
    (project / "train.py").write_text("two")
    assert describe_commit(project / "runs") == {"commit": commit, "has_changes": True}


def test_a_place_without_a_commit_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert describe_commit(tmp_path) is None
    git("init", "--quiet", directory=tmp_path)
    assert describe_commit(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert describe_commit(tmp_path) is None


def test_a_status_that_cannot_be_told_is_not_called_clean(project: Path) -> None:
    (project / ".git" / "index").write_bytes(b"damaged")
    assert describe_commit(project) == {"commit": git("rev-parse", "HEAD", directory=project), "has_changes": None}


def test_a_disk_that_refuses_is_warned_of_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "environment.json").mkdir()
    training = trainer(EnvironmentNote(tmp_path / "environment.json"))
    with pytest.warns(StorageWarning, match=r"Training goes on\.") as found:
        training.fit(line())
    assert len(found) == 1
    assert training.state.step == 30
    assert (tmp_path / "environment.json").is_dir()
