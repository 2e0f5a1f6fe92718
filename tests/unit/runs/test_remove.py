"""Deleting runs, and what is not deleted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.runs import remove
from neuro_divergent.runs.remove import delete_checkpoints, delete_run, size_of
from neuro_divergent.runs.status import describe_run
from tests.unit.runs.runs import make_run


def test_a_deleted_run_is_gone_and_its_neighbours_are_not(tmp_path: Path) -> None:
    run, other = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    before = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    assert delete_run(run) == before
    assert list(tmp_path.iterdir()) == [other]
    assert describe_run(other).state == "finished"


def test_what_a_link_in_a_run_leads_to_stays(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x" * 10_000)
    (run / "plots").symlink_to(tmp_path / "precious")
    assert size_of(run) < 10_000
    delete_run(run)
    assert (tmp_path / "precious" / "file").exists()


def test_running_run_is_not_deleted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", state="running")
    with RunLock(run / "lock"):
        for delete in (delete_run, delete_checkpoints):
            with pytest.raises(InputError, match="in use by this process"):
                delete(run)
    assert len(describe_run(run).checkpoints) == 3


def test_run_that_starts_training_during_deletion_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "a")
    monkeypatch.setattr(remove, "holder", lambda path: None)
    with RunLock(run / "lock"), pytest.raises(InputError, match="in use"):
        delete_run(run)
    assert (run / "config.toml").exists()


def test_only_what_is_certainly_a_run_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "config.toml").write_text("")
    with pytest.raises(InputError, match="is not certainly a run"):
        delete_run(project)
    with pytest.raises(InputError, match="is not a run"):
        delete_run(tmp_path)
    run = make_run(tmp_path / "runs" / "a")
    (tmp_path / "link").symlink_to(run)
    with pytest.raises(InputError, match="is a link"):
        delete_run(tmp_path / "link")
    shutil.copy(run / "status.json", tmp_path / "runs")
    with pytest.raises(InputError, match="holds another run, a"):
        delete_run(tmp_path / "runs")
    (run / "sub").mkdir()
    monkeypatch.chdir(run / "sub")
    with pytest.raises(InputError, match="current directory"):
        delete_run(run)
    assert len(list(run.iterdir())) == 8
    assert (project / "config.toml").exists()


def test_a_disk_that_refuses_leaves_a_run_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "a")
    names = sorted(path.name for path in run.iterdir())

    def refuse(path: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StorageError, match="Permission denied"):
        delete_run(run)
    assert sorted(path.name for path in run.iterdir()) == sorted([*names, "lock"])


def test_the_best_and_the_last_checkpoint_are_kept(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=5)
    (run / "checkpoints" / "step-000000009").mkdir()  # incomplete
    shutil.copytree(run / "checkpoints" / "step-000000002", run / "checkpoints" / "set-aside" / "step-000000002")
    before = size_of(run / "checkpoints")
    freed = delete_checkpoints(run)
    left = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert left == ["best.json", "step-000000001", "step-000000005"]
    assert freed == before - size_of(run / "checkpoints") > 2000 + 2000 + 3000 + 4000
    assert delete_checkpoints(run) == 0
    assert describe_run(run).state == "finished"


def test_checkpoints_at_another_place_are_not_deleted(tmp_path: Path) -> None:
    run, other = make_run(tmp_path / "a"), make_run(tmp_path / "b")
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(f'{config}directory = "{other / "checkpoints"}"\n')
    with pytest.raises(InputError, match="which is not touched"):
        delete_checkpoints(run)
    (run / "config.toml").write_text(config)
    shutil.rmtree(run / "checkpoints")
    assert delete_checkpoints(run) == 0
    (run / "checkpoints").symlink_to(other / "checkpoints")
    with pytest.raises(InputError, match="is a link"):
        delete_checkpoints(run)
    assert len(describe_run(other).checkpoints) == 3
