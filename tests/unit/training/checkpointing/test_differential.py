"""Differential checkpoints: the same states, less written, damage found, and nothing that is needed ever removed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, StorageWarning, UntrustedFileError
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.core.storage.store import open_store
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.checkpointing import shared_tensors
from neuro_divergent.training.checkpointing.checkpoint import (
    pack_differential,
    pack_state,
    read_checkpoint,
    step_name,
    unpack_state,
)
from neuro_divergent.training.checkpointing.resume import load_latest
from tests.unit.training.checkpointing.test_checkpoint import assert_same, states

STEP = step_name


@pytest.fixture
def every_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every tensor a file of its own."""
    monkeypatch.setattr(shared_tensors, "SMALLEST", 0)


def state_of(**tensors: torch.Tensor) -> dict[str, Any]:
    return {"module": tensors, "state": {"step": 1}}


def save(
    store: LocalStore, step: int, state: dict[str, Any], *, since: int | None = None, compress: bool = False
) -> None:
    before = None if since is None else STEP(since)
    store.write(STEP(step), pack_differential(state, since=before, compress=compress))


def inodes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in directory.iterdir() if path.name.startswith("tensor-")}


def bytes_on_disk(place: Path) -> int:
    """Return what the files take, each inode once."""
    found = {path.stat().st_ino: path.stat().st_size for path in place.rglob("*") if path.is_file()}
    return sum(found.values())


@settings(max_examples=60, deadline=None)
@given(states, states, st.booleans())
def test_every_tree_comes_back_as_it_was_also_after_another_one(
    first: dict[str, Any], second: dict[str, Any], compress: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        patch.setattr(shared_tensors, "SMALLEST", 8)
        store = LocalStore(Path(place))
        save(store, 1, first, compress=compress)
        save(store, 2, second, since=1, compress=compress)
        assert_same(read_checkpoint(Path(place) / STEP(1)), first)
        assert_same(read_checkpoint(Path(place) / STEP(2)), second)


@pytest.mark.parametrize("compress", [False, True])
def test_tensor_that_did_not_change_is_on_the_disk_once(tmp_path: Path, compress: bool) -> None:
    store, frozen = LocalStore(tmp_path), torch.randn(300, 300)
    for step in range(1, 5):
        state = state_of(frozen=frozen, head=torch.randn(200, 200))
        save(store, step, state, since=step - 1 if step > 1 else None, compress=compress)
        assert_same(read_checkpoint(tmp_path / STEP(step)), state)
    shared = set.intersection(*(set(inodes(tmp_path / STEP(step)).items()) for step in range(1, 5)))
    assert len(shared) == 1
    assert bytes_on_disk(tmp_path) < 1.1 * (frozen.nbytes + 4 * 200 * 200 * 4)


def test_equal_tensors_of_one_checkpoint_are_one_file_and_come_back_with_memory_of_their_own(tmp_path: Path) -> None:
    weights = torch.randn(200, 200)
    save(LocalStore(tmp_path), 1, {"module": {"w": weights}, "best": {"w": weights.clone(), "other": weights + 1}})
    assert len(inodes(tmp_path / STEP(1))) == 2
    state = read_checkpoint(tmp_path / STEP(1))
    state["module"]["w"].zero_()
    assert torch.equal(state["best"]["w"], weights)


def test_tensors_of_equal_bytes_but_other_type_or_shape_are_different_files(tmp_path: Path, every_tensor: None) -> None:
    zeros = torch.zeros(4, 6)
    state = state_of(a=zeros, b=zeros.reshape(6, 4), c=zeros.to(torch.int32), d=zeros.clone())
    save(LocalStore(tmp_path), 1, state)
    assert len(inodes(tmp_path / STEP(1))) == 3
    assert_same(read_checkpoint(tmp_path / STEP(1)), state)


def test_small_tensors_stay_in_the_file_of_their_part(tmp_path: Path) -> None:
    save(LocalStore(tmp_path), 1, state_of(small=torch.randn(100), large=torch.randn(200, 200)))
    names = sorted(path.name for path in (tmp_path / STEP(1)).iterdir())
    assert [name for name in names if not name.startswith("tensor-")] == [
        "manifest.json",
        "module.safetensors",
        "state.json",
    ]


def test_complete_checkpoints_are_written_as_older_versions_read_them() -> None:
    files = dict(pack_state(state_of(w=torch.randn(300, 300))))
    assert json.loads(files["state.json"])["format"] == 2
    assert sorted(files) == ["module.safetensors", "state.json"]


def test_removing_a_checkpoint_keeps_what_others_share_and_frees_the_rest(tmp_path: Path) -> None:
    store, frozen = LocalStore(tmp_path), torch.randn(300, 300)
    kept = state_of(frozen=frozen, head=torch.randn(200, 200))
    save(store, 1, state_of(frozen=frozen, head=torch.randn(200, 200)))
    save(store, 2, kept, since=1)
    store.remove(STEP(1))
    assert_same(read_checkpoint(tmp_path / STEP(2)), kept)
    assert bytes_on_disk(tmp_path) < 1.1 * (frozen.nbytes + 200 * 200 * 4)
    store.quarantine(STEP(2))
    assert_same(read_checkpoint(tmp_path / "set-aside" / STEP(2)), kept)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)  # in place: every link has it


def test_damaged_shared_file_is_found_in_every_checkpoint_that_has_it(tmp_path: Path) -> None:
    store, frozen = LocalStore(tmp_path), torch.randn(300, 300)
    save(store, 1, state_of(frozen=frozen))
    save(store, 2, state_of(frozen=frozen), since=1)
    damage(next((tmp_path / STEP(1)).glob("tensor-*")))
    for step in (1, 2):
        with pytest.raises(UntrustedFileError, match="SHA-256 differs"):
            read_checkpoint(tmp_path / STEP(step))


@pytest.mark.parametrize("harm", ["bit", "missing", "truncated", "link"])
def test_damaged_file_is_written_again_rather_than_shared(tmp_path: Path, harm: str) -> None:
    store, state = LocalStore(tmp_path), state_of(frozen=torch.randn(300, 300), other=torch.randn(300, 300))
    save(store, 1, state)
    victim = sorted((tmp_path / STEP(1)).glob("tensor-*"))[0]
    if harm == "bit":
        damage(victim)
    elif harm == "truncated":
        os.truncate(victim, 100)
    else:
        shutil.move(victim, tmp_path / "elsewhere")
    if harm == "link":
        victim.symlink_to(tmp_path / "elsewhere")
    save(store, 2, state, since=1)
    assert_same(read_checkpoint(tmp_path / STEP(2)), state)
    new = tmp_path / STEP(2) / victim.name
    assert not new.is_symlink()
    assert new.stat().st_nlink == 1


@pytest.mark.parametrize("code", [errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EOPNOTSUPP])
def test_file_system_without_links_gets_complete_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    store, state = LocalStore(tmp_path), state_of(frozen=torch.randn(300, 300))
    save(store, 1, state)
    monkeypatch.setattr(os, "link", refuse)
    save(store, 2, state, since=1)
    store.remove(STEP(1))
    assert_same(read_checkpoint(tmp_path / STEP(2)), state)


def test_checkpoint_before_that_is_gone_is_not_needed(tmp_path: Path) -> None:
    state = state_of(frozen=torch.randn(300, 300))
    save(LocalStore(tmp_path), 2, state, since=1)
    assert_same(read_checkpoint(tmp_path / STEP(2)), state)


def test_store_that_cannot_share_writes_everything() -> None:
    store, state = open_store("memory://differential/run"), state_of(frozen=torch.randn(300, 300))
    for step in (1, 2):
        store.write(STEP(step), pack_differential(state, since=STEP(1)))
        assert_same(unpack_state(store.read(STEP(step)), "memory"), state)


@pytest.mark.parametrize(
    "change",
    [
        lambda description: description["shared"]["module"].pop("w"),
        lambda description: description["shared"].update(elsewhere={}),
        lambda description: description["shared"]["module"].update(w="../../etc/passwd"),
        lambda description: description["shared"]["module"].update(more=description["shared"]["module"]["w"]),
        lambda description: description.pop("shared"),
        lambda description: description.update(shared=[]),
        lambda description: description.update(format=2),
        lambda description: description["files"].update({next(iter(description["files"])): 7}),
        lambda description: description["state"]["module"]["w"].update(shape=[90000]),
    ],
)
def test_description_that_does_not_fit_its_files_is_refused(change: Any) -> None:
    files = dict(pack_differential(state_of(w=torch.randn(300, 300)), since=None))
    description = json.loads(files["state.json"])  # type: ignore[arg-type]
    change(description)
    files["state.json"] = json.dumps(description).encode()
    with pytest.raises(UntrustedFileError):
        unpack_state(files, "made")  # type: ignore[arg-type]


def test_remote_places_are_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no links between files"):
        Checkpointing(directory="s3://bucket/run", differential=True).build()
    Checkpointing(directory=f"file://{tmp_path}", differential=True).build()


# Training


def network() -> nn.Module:
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(4, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU())
    return nn.Sequential(backbone, nn.Linear(200, 1))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.arange(160, dtype=torch.float32).reshape(40, 4).sin()
    return inputs, inputs.sum(1, keepdim=True)


def train(place: Path, *, steps: int = 40, resume: bool = False, frozen: bool = True, **checkpoints: Any) -> nd.Trainer:
    config = nd.TrainingConfig(
        max_steps=steps,
        batch_size=8,
        validate_every=10,
        seed=5,
        threads=1,
        freeze=nd.training.Freeze("0.*") if frozen else (),
        schedule="constant",
    )
    settings = {"every_epochs": None, "every_steps": 4, "keep": 3, "differential": True, **checkpoints}
    writer = Checkpointing(directory=place, **settings).build()
    trainer = nd.Trainer(network(), nd.losses.MSE(), config, callbacks=[writer])
    trainer.fit(data(), data(), resume=place if resume else None)
    return trainer


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    trainer = train(tmp_path_factory.mktemp("whole") / "made", differential=False)
    return {name: tensor.clone() for name, tensor in trainer.module.state_dict().items()}


@pytest.mark.parametrize("options", [{}, {"background": True}, {"compress": True}, {"keep": 1}], ids=str)
def test_resume_gives_bit_identical_weights(
    tmp_path: Path, options: dict[str, Any], uninterrupted: dict[str, torch.Tensor]
) -> None:
    train(tmp_path / "made", steps=23, **options)
    trainer = train(tmp_path / "made", resume=True, **options)
    for name, tensor in trainer.module.state_dict().items():
        assert torch.equal(tensor, uninterrupted[name]), name


@pytest.mark.parametrize("first", [False, True])
def test_kind_of_checkpoint_may_change_when_training_is_resumed(
    tmp_path: Path, first: bool, uninterrupted: dict[str, torch.Tensor]
) -> None:
    train(tmp_path / "made", steps=23, differential=first)
    trainer = train(tmp_path / "made", resume=True, differential=not first)
    for name, tensor in trainer.module.state_dict().items():
        assert torch.equal(tensor, uninterrupted[name]), name


def written_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every write of a new file into a directory adds its size."""
    from neuro_divergent.core.storage import atomic

    sizes: list[int] = []
    original = atomic._write_new

    def count(path: Path, content: bytes) -> None:
        sizes.append(len(content))
        original(path, content)

    monkeypatch.setattr(atomic, "_write_new", count)
    return sizes


def test_frozen_backbone_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = written_bytes(monkeypatch)
    totals = {}
    for differential in (False, True):
        sizes.clear()
        train(tmp_path / str(differential), differential=differential)
        totals[differential] = sum(sizes)
    backbone = 200 * 200 * 4
    assert totals[False] > 10 * backbone  # ten checkpoints
    assert totals[True] < totals[False] - 8.9 * backbone


def test_retention_and_best_work_as_with_complete_checkpoints(tmp_path: Path) -> None:
    for differential in (False, True):
        train(tmp_path / str(differential), differential=differential, on_improvement=True, frozen=False)
    one, two = ({p.name for p in (tmp_path / str(kind)).iterdir()} for kind in (False, True))
    assert one == two
    for name in LocalStore(tmp_path / "True").names():
        assert_same(
            read_checkpoint(tmp_path / "True" / name)["module"], read_checkpoint(tmp_path / "False" / name)["module"]
        )


def test_damage_of_a_tensor_that_only_the_latest_has_falls_back_to_the_one_before(tmp_path: Path) -> None:
    train(tmp_path / "made", frozen=False)
    names = LocalStore(tmp_path / "made").names()
    latest = tmp_path / "made" / names[-1]
    damage(next(path for path in latest.glob("tensor-*") if path.stat().st_nlink == 1))
    with pytest.warns(StorageWarning, match="damaged"):
        state = load_latest(tmp_path / "made")
    assert STEP(state["state"]["step"]) == names[-2]


# Any order of saves, removals and crashes


class CrashError(Exception):
    """The process ends here."""


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["save", "crash", "remove", "quarantine", "tidy"]), st.integers(0, 8)), max_size=14
)


@settings(max_examples=60, deadline=None)
@given(ACTIONS)
def test_every_complete_checkpoint_is_readable_after_any_order_of_saves_removals_and_crashes(
    actions: list[tuple[str, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        patch.setattr(shared_tensors, "SMALLEST", 0)
        store, expected, step = LocalStore(Path(place)), dict[str, Any](), 0
        for action, number in actions:
            names = store.names()
            if action in ("save", "crash"):
                step += 1
                # Some tensors are as before, some new, some as in an older checkpoint.
                state = state_of(a=torch.zeros(4), b=torch.full((4,), step // 2), c=torch.full((4,), step % 3))
                files = pack_differential(state, since=names[-1] if names else None)
                if action == "save":
                    store.write(STEP(step), files)
                    expected[STEP(step)] = state
                else:
                    with pytest.raises(CrashError):
                        store.write(STEP(step), crashing(files, number))
            elif names and action == "tidy":
                store.clear_leftovers()
            elif names:
                chosen = names[number % len(names)]
                store.remove(chosen) if action == "remove" else store.quarantine(chosen)
                del expected[chosen]
            assert store.names() == sorted(expected)
            for name, state in expected.items():
                assert_same(read_checkpoint(Path(place) / name), state)
        for name in store.names():
            store.remove(name)
        shutil.rmtree(Path(place) / "set-aside", ignore_errors=True)
        store.clear_leftovers()
        assert not [path for path in Path(place).rglob("*") if path.is_file()]  # nothing is left that nobody names


def crashing(files: Iterator[tuple[str, Any]], number: int) -> Iterator[tuple[str, Any]]:
    """Yield some files, then end as a process does that is killed."""
    for count, item in enumerate(files):
        if count == number % 4:
            break
        yield item
    raise CrashError
