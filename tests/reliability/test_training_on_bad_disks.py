"""Training on disks that refuse: it goes on, saves are tried again, and what was saved stays."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import StorageError, StorageWarning
from neuro_divergent.core.storage.store import open_store
from neuro_divergent.training.callbacks.checkpointing import Checkpointer, Checkpointing
from tests.integration.test_command_line import COLUMNS, ENVIRONMENT, MODULE, sales
from tests.reliability.apart import mount_memory, run_apart
from tests.reliability.scenarios import Property
from tests.reliability.syscalls import fail_at, kill_at, trace
from tests.unit.training.callbacks.example import config, line, network

__all__ = ["sales"]  # the fixture

SOAK = bool(os.environ.get("ND_SOAK"))


class AtSteps(nd.callbacks.Callback):
    """Does things when steps are done and no thread is writing."""

    def __init__(self, actions: dict[int, Callable[[], object]], pause: float = 0.0) -> None:
        self.actions = actions
        self.pause = pause

    def step_end(self, trainer: nd.Trainer) -> None:
        if trainer.state.step in self.actions:
            for writer in trainer.callbacks:
                if isinstance(writer, Checkpointer) and writer._saving is not None:
                    wait([writer._saving])
        if trainer.state.step in self.actions:
            self.actions[trainer.state.step]()
        if self.actions and trainer.state.step > min(self.actions):
            time.sleep(self.pause)


def train(place: Path, at_steps: AtSteps | None = None, *, resume: bool = False, **settings: Any) -> str:
    """Train for 60 steps with a checkpoint every 10, and return a digest of the weights."""
    module = network()
    writer = Checkpointing(directory=place, every_epochs=None, every_steps=10, keep=9, **settings).build()
    trainer = nd.Trainer(module, nd.losses.MSE(), config(max_steps=60), callbacks=[at_steps or AtSteps({}), writer])
    trainer.fit(line(), resume=place if resume else None)
    digest = hashlib.sha256()
    for tensor in module.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def contents(place: Path) -> dict[str, dict[str, str]]:
    """Return digests of all files of all checkpoints, which are verified."""
    store = open_store(place)
    return {
        name: {file: hashlib.sha256(content).hexdigest() for file, content in store.read(name).items()}
        for name in store.names()
    }


def steps(place: Path) -> list[int]:
    return [int(name[5:]) for name in open_store(place).names()]


def fill(path: Path) -> None:
    with path.open("wb") as file:
        status = os.statvfs(path)
        with suppress(OSError):  # a thread that writes at the same time takes the last of it
            file.write(b"\0" * (status.f_bavail * status.f_frsize))


@pytest.fixture(autouse=True)
def _warm(tmp_path: Path) -> None:
    """Load what training loads, without threads, before a process is forked."""
    torch.set_num_threads(1)
    train(tmp_path / "warm")


@pytest.mark.parametrize("background", [False, True], ids=["at once", "in the background"])
def test_training_goes_on_while_the_disk_is_full_and_saves_again_afterwards(
    mount_place: Path, tmp_path_factory: pytest.TempPathFactory, background: bool
) -> None:
    def attempt() -> dict[str, Any]:
        undisturbed = train(tmp_path_factory.mktemp("undisturbed"), background=background)
        mount_memory(mount_place, "size=2m")
        place, filler = mount_place / "run", mount_place / "filler"
        seen: dict[str, Any] = {}

        def spoil() -> None:
            seen["before"] = contents(place)
            fill(filler)

        def mend() -> None:
            seen["during"] = contents(place)
            filler.unlink()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            digest = train(place, AtSteps({25: spoil, 35: mend}, pause=0.08), background=background)
        complaints = [str(item.message) for item in caught if item.category is StorageWarning]
        left = [path.name for path in mount_place.rglob(".*")]
        return {"same": digest == undisturbed, "complaints": complaints, "steps": steps(place), "left": left, **seen}

    seen = run_apart(attempt)
    assert seen["same"]
    assert seen["before"]
    assert seen["during"] == seen["before"]
    assert seen["complaints"]
    assert "No space left on device; needs " in seen["complaints"][0]
    assert " 0 bytes free. Training goes on; the next attempt is in 1 s." in seen["complaints"][0]
    assert seen["steps"][-1] == 60
    assert any(35 <= step < 60 for step in seen["steps"])  # not only the last
    assert not seen["left"]


def test_a_last_save_that_fails_to_the_end_is_an_error_and_training_can_be_resumed(
    mount_place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def attempt() -> dict[str, Any]:
        undisturbed = train(tmp_path_factory.mktemp("undisturbed"))
        mount_memory(mount_place, "size=2m")
        place, filler = mount_place / "run", mount_place / "filler"
        seen: dict[str, Any] = {}

        def spoil() -> None:
            seen["before"] = contents(place)
            fill(filler)

        began = time.monotonic()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(StorageError, match=r"No space left on device; needs .* free"):
                train(place, AtSteps({55: spoil}))
        complaints = [str(item.message) for item in caught if item.category is StorageWarning]
        seconds = time.monotonic() - began
        seen["after"] = contents(place)
        filler.unlink()
        resumed = train(place, resume=True)
        return {"same": resumed == undisturbed, "complaints": complaints, "seconds": seconds, **seen}

    seen = run_apart(attempt)
    assert seen["same"]
    assert len(seen["before"]) == 5
    assert seen["after"] == seen["before"]
    assert len(seen["complaints"]) == 4  # of the save of step 60 that was due, and of three of the four last attempts
    assert seen["seconds"] >= 7  # pauses of one, two and four seconds


def numbers(first: int, last: int, share: int) -> list[int]:
    """Return the numbers of the calls to try: all, or some from beginning to end."""
    return list(range(first, last, 1 if SOAK else max(1, (last - first) // share)))


def test_no_single_refusal_ends_training_or_changes_it(watched_place: Path, record_property: Property) -> None:
    undisturbed = train(watched_place / "warm")
    watched = trace(lambda: train(watched_place / "undisturbed"), watched_place / "undisturbed")
    errors = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT]
    # Before the first save training has not begun yet, and a disk that refuses then is an error at once.
    first = next(number for number, call in enumerate(watched.calls) if call.name == "mkdir")
    tried = numbers(first, len(watched.calls), share=15)
    for number in tried:
        root = watched_place / "refused"

        def attempt(root: Path = root) -> None:
            warnings.simplefilter("ignore", StorageWarning)
            (root.parent / "digest").write_text(train(root))

        outcome = fail_at(attempt, root, number, errors[number % len(errors)])
        assert outcome.has_returned, f"call {number}, {watched.calls[number]}: {outcome.errors[:1]} {outcome.message}"
        assert (watched_place / "digest").read_text() == undisturbed
        assert steps(root)[-1] == 60
        assert contents(root)
        shutil.rmtree(root)
    record_property("refusals", len(tried))
    print(f"{len(tried)} refusals in {len(watched.calls)} calls of a training")  # noqa: T201


@pytest.mark.parametrize("background", [False, True], ids=["at once", "in the background"])
def test_a_training_that_is_killed_at_a_call_is_resumed_to_the_same_weights(
    watched_place: Path, record_property: Property, background: bool
) -> None:
    undisturbed = train(watched_place / "warm", background=background)
    watched = trace(lambda: train(watched_place / "undisturbed", background=background), watched_place / "undisturbed")
    tried, resumed = numbers(0, len(watched.calls), share=12), 0
    for number in tried:
        root = watched_place / "killed"
        outcome = kill_at(lambda root=root: train(root, background=background), root, number)
        # A thread that is late leaves out a checkpoint, so that there are fewer calls than in the run before.
        assert outcome.was_killed or background
        contents(root)  # all that is listed is verified
        resumed += bool(steps(root))
        assert train(root, resume=bool(steps(root)), background=background) == undisturbed
        assert background or steps(root) == [10, 20, 30, 40, 50, 60]
        assert steps(root)[-1] == 60
        assert not list(root.rglob(".*"))
        shutil.rmtree(root)
    record_property("kills", len(tried))
    print(f"{len(tried)} kills in {len(watched.calls)} calls of a training, {resumed} resumed, all the same weights")  # noqa: T201


def test_the_command_line_says_so_in_one_line_and_exits_with_4(sales: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    command = ["train", "sales.csv", *COLUMNS, "--horizon", "7", "--model", "mlp", "--max-steps", "5", "--threads", "1"]
    process = subprocess.run(
        [sys.executable, "-m", MODULE, *command, "--output", "run", "--quiet"],
        cwd=sales,
        env=ENVIRONMENT,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 4, process.stderr
    assert "Traceback" not in process.stderr
    last = process.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert "cannot be written: File too large" in last
