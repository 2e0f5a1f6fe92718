"""Trainings with differential checkpoints that are killed again and again, forked from a process that imported it all.

``python -m tests.reliability.differential_run PLACE KILLS SEED`` prints what happened as a line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.training.checkpointing import shared_tensors
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint
from tests.reliability.trained import digests

VARIANTS: dict[str, dict[str, Any]] = {
    "frozen": {"checkpoints": {"every_steps": 3}},
    "thread": {"checkpoints": {"every_steps": 2, "background": True, "on_improvement": True}},
    "average": {"average": nd.callbacks.EMA(decay=0.9), "checkpoints": {"every_steps": 4, "compress": True}},
}
STEPS = 40
LONGEST = 0.25  # seconds until a kill; about what a training takes


def train(place: Path, variant: str) -> dict[str, str]:
    """Begin a training, or go on with it, and return digests of what it left."""
    random.seed(1)
    torch.manual_seed(3)
    backbone = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16))
    network = nn.Sequential(backbone, nn.Dropout(0.2), nn.Linear(16, 1))
    settings = dict(VARIANTS[variant])
    checkpoints = {"every_epochs": None, "keep": 2, "differential": True, **settings.pop("checkpoints")}
    writer = nd.callbacks.Checkpointing(directory=place, **checkpoints).build()
    config = nd.TrainingConfig(
        max_steps=STEPS,
        batch_size=6,
        validate_every=6,
        seed=5,
        threads=1,
        freeze=nd.training.Freeze("0.*", until=3),
        **settings,
    )
    trainer = nd.Trainer(network, nd.losses.MSE(), config, callbacks=[writer])
    inputs = torch.arange(90, dtype=torch.float32).reshape(30, 3).sin()
    data = inputs, inputs.sum(1, keepdim=True) ** 2
    trainer.fit(data, data, resume=place if LocalStore(place).names() else None)
    return digests(trainer.state_dict())


def attempt(place: Path, variant: str, result: Path, draw: random.Random) -> bool:
    """Train in a process that is killed at a random moment; return whether it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no other thread does anything any more
        child = os.fork()
    if not child:
        code = 1
        try:
            text = json.dumps(train(place, variant))
            partial = result.with_suffix(".partial")
            partial.write_text(text)
            partial.rename(result)
            code = 0
        except BaseException:  # noqa: BLE001 - whoever asked shows it
            traceback.print_exc()
        finally:
            os._exit(code)
    time.sleep(draw.uniform(0, LONGEST))
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def check(place: Path) -> tuple[int, int]:
    """Read every checkpoint; return how many there are, and how many files several of them share."""
    names = LocalStore(place).names()
    for name in names:
        read_checkpoint(place / name)
    files = [path.stat() for name in names for path in (place / name).glob("tensor-*")]
    return len(names), len(files) - len({item.st_ino for item in files})


def main() -> None:
    """Kill trainings until there were enough kills, and tell."""
    root, kills, draw = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    torch.set_num_threads(1)
    shared_tensors.SMALLEST = 128
    whole = {variant: train(root / f"whole-{variant}", variant) for variant in VARIANTS}
    told = {"kills": 0, "runs": 0, "read": 0, "shared": 0}
    while told["kills"] < kills:
        variant = list(VARIANTS)[told["runs"] % len(VARIANTS)]
        place, result = root / "killed", root / "result.json"
        while not result.exists():
            told["kills"] += attempt(place, variant, result, draw)
            read, shared = check(place)
            told["read"], told["shared"] = told["read"] + read, told["shared"] + shared
        assert json.loads(result.read_text()) == whole[variant], variant
        LocalStore(place).clear_leftovers()
        left = {path.name for path in place.iterdir()} - {"best.json", *LocalStore(place).names()}
        assert not left, left
        shutil.rmtree(place)
        result.unlink()
        told["runs"] += 1
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
