"""What the processes of the fork server train, and what they tell of it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.core.instructions import find_instructions
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.training.callbacks.interruption import Interruption
from neuro_divergent.training.checkpointing.checkpoint import BEST, read_checkpoint
from neuro_divergent.training.checkpointing.resume import step_of
from neuro_divergent.training.checkpointing.snapshot import tensors_of
from tests.reliability.moment import Moment

STEPS = 60
ITEMS = 63  # not a multiple of the batch size
_COMMON: dict[str, Any] = {
    "max_steps": STEPS,
    "batch_size": 6,
    "validate_every": 6,
    "log_every": 4,
    "seed": 5,
    "threads": 1,
}

VARIANTS: dict[str, dict[str, Any]] = {
    "ema": {"average": nd.callbacks.EMA(), "checkpoints": {"every_steps": 7}},
    "accumulate": {
        "accumulate": 2,
        "average": nd.callbacks.EMA(decay=0.9),
        "checkpoints": {"every_steps": 5, "background": True},
    },
    "plateau": {
        "optimizer": nd.optimizers.SGD(lr=0.01),
        "schedule": nd.schedules.Plateau(patience=1),
        "average": nd.callbacks.SWA(start=0.5),
        "checkpoints": {"every_epochs": 1},
    },
    "noise": {
        "gradient_noise": nd.training.GradientNoise(),
        "checkpoints": {"every_steps": 11, "on_improvement": True, "background": True},
    },
    "patient": {
        "early_stopping": nd.EarlyStopping(patience=3, min_delta=0.2),
        "checkpoints": {"every_steps": 4},
    },
    "half": {"precision": "fp16", "average": nd.callbacks.EMA(), "checkpoints": {"every_seconds": 0.02}},
    "averaging": {
        "optimizer": nd.optimizers.ScheduleFreeAdamW(),
        "freeze": nd.training.Freeze("inner.0.*", until=2),
        "checkpoints": {"every_steps": 8},
    },
}
"""Settings of trainings, with those of their checkpoints."""
if "fp16" in find_instructions().problems:
    del VARIANTS["half"]


TIMES = ("seconds", "samples_per_second", "waiting_share")
"""Columns of the history that are never twice the same."""


@dataclass(frozen=True)
class PreparedData:
    """A training to begin or to go on with.

    Attributes:
        place: Directory of the run.
        variant: Which of ``VARIANTS`` it is.
        slow_pass: Which forward pass takes far longer than anybody waits for; 0 for none.
        aim: A phase in which the process gets a signal, or nothing for none.
        count: In which of the times that this phase begins.
        delay: How many seconds later.
        number: Which signal.
    """

    place: str
    variant: str
    slow_pass: int = 0
    aim: str = ""
    count: int = 1
    delay: float = 0.0
    number: int = int(signal.SIGKILL)

    @property
    def checkpoints(self) -> Path:
        """Where its checkpoints are."""
        return Path(self.place) / "checkpoints"

    @property
    def samples(self) -> Path:
        """Which items each step saw, a line each, in the order in which steps were done."""
        return Path(self.place) / "samples.jsonl"

    @property
    def result(self) -> Path:
        """What was left in the end."""
        return Path(self.place) / "result.json"

    @property
    def moment(self) -> Path:
        """What is being done."""
        return Path(self.place) / "moment"

    def sample_order(self) -> dict[int, list[int]]:
        """Return which items each step saw; a step that was done again must have seen the same."""
        found: dict[int, list[int]] = {}
        for step, numbers in map(json.loads, self.samples.read_text("ascii").splitlines()):
            assert found.setdefault(step, numbers) == numbers, f"step {step} saw other items when it was done again"
        return dict(sorted(found.items()))


def train(job: PreparedData) -> None:
    """Begin a training, or go on with it; write at the end what it left."""
    moment = Moment(job.moment)
    moment.tell(Bomb(job).phase_begins)
    random.seed(1)  # a forked process has another state than its parent
    torch.manual_seed(3)
    network = Network(moment, job.slow_pass)
    settings = dict(VARIANTS[job.variant])
    checkpoints = {"every_epochs": None, **settings.pop("checkpoints")}
    checkpointer = nd.callbacks.Checkpointing(directory=job.checkpoints, keep=2, **checkpoints).build()
    checkpointer.store = WatchedStore(job.checkpoints, moment)
    watch = Watch(moment, network, job.samples)
    callbacks = [checkpointer, WatchedInterruption(moment), watch]
    trainer = nd.Trainer(network, nd.losses.MSE(), nd.TrainingConfig(**{**_COMMON, **settings}), callbacks=callbacks)
    has_begun = bool(checkpointer.store.names())
    trainer.fit(items(), items(), resume=job.checkpoints if has_begun else None)
    partial = job.result.with_suffix(".partial")
    partial.write_text(json.dumps({**digests(trainer.state_dict()), **watch.digests}), "ascii")
    partial.rename(job.result)


def items() -> tuple[Tensor, Tensor]:
    """Return inputs, the first of which numbers the item, and targets."""
    numbers = torch.arange(ITEMS, dtype=torch.float32)
    inputs = torch.stack([numbers, *(torch.sin(numbers * rate) for rate in (0.3, 0.7, 1.9))], 1)
    return inputs, inputs[:, 1:].sum(1, keepdim=True) ** 2


class Network(nn.Module):
    """A small network with all that makes a forward pass depend on more than weights; notes the items it is shown.

    Args:
        moment: Where it tells that it takes long.
        slow_pass: Which pass in training takes far longer than anybody waits for; 0 for none.
    """

    def __init__(self, moment: Moment, slow_pass: int) -> None:
        super().__init__()
        self._moment = moment
        self.inner = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
        self.seen: list[int] = []
        self._passes_left = slow_pass

    def forward(self, inputs: Tensor) -> Tensor:
        """Return a number for each item."""
        if self.training:
            self.seen += inputs[:, 0].int().tolist()
            self._passes_left -= 1
            if not self._passes_left:
                self._be_slow(inputs)
        output: Tensor = self.inner(inputs[:, 1:])
        return output

    def _be_slow(self, inputs: Tensor) -> None:
        """Compute for half a minute, the way a large network does: one operation after the other."""
        self._moment.is_slow = True
        end = time.monotonic() + 30
        while time.monotonic() < end:
            inputs = inputs.sin()


def moment_later(draw: random.Random) -> float:
    """Return seconds from the beginning of a phase to a moment in it, as far as one can tell."""
    return 0.0 if draw.random() < 0.4 else draw.uniform(0, 0.0004)


class Bomb:
    """Sends its own process the signal that a job asks for, from a thread, whatever the others are doing then."""

    def __init__(self, job: PreparedData) -> None:
        self._job = job
        self._left = job.count

    def phase_begins(self, name: str) -> None:
        """Count, and light it when it is time."""
        if name == self._job.aim and name:
            self._left -= 1
            if not self._left:
                threading.Thread(target=self._go_off, daemon=True).start()

    def _go_off(self) -> None:
        if self._job.delay:
            time.sleep(self._job.delay)
        os.kill(os.getpid(), self._job.number)


class Watch(nd.callbacks.Callback):
    """Tells where training is, and which items each step saw."""

    def __init__(self, moment: Moment, network: Network, samples: Path) -> None:
        self._moment = moment
        self._network = network
        self.digests: dict[str, str] = {}
        self._file = os.open(samples, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def fit_start(self, trainer: nd.Trainer) -> None:
        """Say so."""
        self._moment.step = trainer.state.step
        self._moment.phase = "training"

    def step_end(self, trainer: nd.Trainer) -> None:
        """Say which step, and write its items in one call, which a kill cannot cut in two."""
        self._moment.step = trainer.state.step
        line = json.dumps([trainer.state.step, self._network.seen])
        os.write(self._file, f"{line}\n".encode("ascii"))
        self._network.seen.clear()

    def validation_start(self, trainer: nd.Trainer) -> None:
        """Say so."""
        self._moment.phase = "validation"

    def validation_end(self, trainer: nd.Trainer) -> None:
        """Say so."""
        self._moment.phase = "training"

    def validation_cancelled(self, trainer: nd.Trainer) -> None:
        """Say so."""
        self._moment.phase = "training"

    def finishing(self, trainer: nd.Trainer) -> None:
        """Say so."""
        self._moment.phase = "finishing"

    def fit_end(self, trainer: nd.Trainer) -> None:
        """Say so, close the file, and note the generators, which training gives back as it found them."""
        self._moment.phase = "finished"
        self.digests = digests({"random": trainer.state_dict()["random"]})
        os.close(self._file)


class WatchedInterruption(Interruption):
    """Tells at which step a signal was heard."""

    def __init__(self, moment: Moment) -> None:
        super().__init__()
        self._moment = moment

    def _receive(self, name: str) -> None:
        self._moment.hear()
        super()._receive(name)


class WatchedStore(LocalStore):
    """Tells what is being done with the store, in whichever thread."""

    def __init__(self, directory: Path, moment: Moment) -> None:
        super().__init__(directory)
        self._moment = moment

    def write(self, name: str, files: Any) -> None:
        """Tell and write."""
        self._tell("saving", super().write, name, files)

    def write_note(self, name: str, content: bytes) -> None:
        """Tell and write."""
        self._tell("marking", super().write_note, name, content)

    def remove(self, name: str) -> None:
        """Tell and remove."""
        self._tell("retention", super().remove, name)

    def _tell(self, phase: str, act: Any, *arguments: Any) -> None:
        self._moment.set_store_phase(phase)
        act(*arguments)
        self._moment.set_store_phase("")


def digests(state: dict[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each part of what training leaves behind, without times.

    Which checkpoint is the best is left out: with a thread that writes, it depends on how fast the disk is.
    """
    parts = {name: part for name, part in state.items() if name not in ("meter", "epoch_random")}
    if "history" in parts:
        rows = state["history"]["rows"]
        parts["history"] = [{key: value for key, value in row.items() if key not in TIMES} for row in rows]
        parts["callbacks"] = [item for item in state["callbacks"] if item["kind"] != "Checkpointer"]
    return {name: _digest(part) for name, part in parts.items()}


def check_store(job: PreparedData) -> list[int]:
    """Read all that a user can see of the checkpoints of a job, and return their steps."""
    store = LocalStore(job.checkpoints)
    steps = []
    for name in store.names():
        state = read_checkpoint(job.checkpoints / name)
        assert not lost_numbers(state)
        assert state["state"]["step"] == step_of(name)
        steps.append(state["state"]["step"])
    note = store.read_note(BEST)
    assert note is None or json.loads(note)["step"] in steps
    return steps


def assert_same(job: PreparedData, whole: PreparedData) -> None:
    """Compare what two trainings left, and the items that each of their steps saw."""
    assert json.loads(job.result.read_text()) == json.loads(whole.result.read_text()), job.variant
    assert job.sample_order() == whole.sample_order(), job.variant


def lost_numbers(state: dict[str, Any]) -> list[str]:
    """Return the names of tensors of a state that are not finite.

    What was measured may be infinite: the norm of gradients is when fp16 overflows and leaves a step out.
    """
    tensors = tensors_of({name: part for name, part in state.items() if name != "meter"})
    return [name for name, tensor in tensors if tensor.is_floating_point() and not tensor.isfinite().all()]


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    for path, tensor in tensors_of(value):
        digest.update(f"{path} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    digest.update(repr(_without_tensors(value)).encode())
    return digest.hexdigest()


def _without_tensors(value: Any) -> Any:
    if isinstance(value, Tensor):
        return None
    if isinstance(value, dict):
        return {key: _without_tensors(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_tensors(item) for item in value]
    return value
