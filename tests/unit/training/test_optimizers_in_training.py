"""Optimizers whose weights to use are not those they train, in the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint, write_checkpoint
from neuro_divergent.training.optimizers.base import Optimizer

AVERAGING = [name for name in Optimizer.registry.names() if Optimizer.registry.get(name).averages]


def data() -> tuple[Tensor, Tensor]:
    inputs = torch.randn(32, 3, generator=torch.Generator().manual_seed(0))
    return inputs, inputs.square().sum(1, keepdim=True)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))


def trainer(name: str, *callbacks: nd.callbacks.Callback, **changes: Any) -> nd.Trainer:
    settings = {
        "optimizer": {"name": name, "lr": 0.05},
        "schedule": "constant",
        "batch_size": 8,
        "max_steps": 33,
        "validate_every": 7,
        "threads": 1,
        "early_stopping": None,
        **changes,
    }
    return nd.Trainer(network(), nd.losses.MSE(), nd.TrainingConfig(**settings), callbacks=callbacks)


def loss_of(module: nn.Module) -> float:
    inputs, target = data()
    with torch.no_grad():
        return float((module(inputs) - target).square().mean())


@pytest.mark.parametrize("name", AVERAGING)
def test_training_ends_with_the_weights_that_were_validated(name: str) -> None:
    made = trainer(name)
    history = made.fit(data(), data())
    assert loss_of(made.module) == pytest.approx(history.rows[-1]["validation_loss"], rel=1e-5)


@pytest.mark.parametrize("name", AVERAGING)
def test_the_best_weights_are_those_that_were_validated(name: str) -> None:
    made = trainer(name, early_stopping=nd.EarlyStopping(patience=100))
    history = made.fit(data(), data())
    best = min(row["validation_loss"] for row in history.rows if row.get("validation_loss") is not None)
    assert loss_of(made.module) == pytest.approx(best, rel=1e-5)


class Keep(nd.callbacks.Callback):
    """Writes the state of training down after step 14, which a validation follows."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def keep(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == 14:
            write_checkpoint(self.directory, trainer.state_dict())


class KeepAtStep(Keep):
    def step_end(self, trainer: nd.Trainer) -> None:
        self.keep(trainer)


class KeepAtValidation(Keep):
    def validation_end(self, trainer: nd.Trainer) -> None:
        self.keep(trainer)


@pytest.mark.parametrize("kind", [KeepAtStep, KeepAtValidation])
@pytest.mark.parametrize("name", AVERAGING)
def test_resumes_with_the_same_bits(name: str, kind: type[Keep], tmp_path: Path) -> None:
    whole = trainer(name, kind(tmp_path / "kept"))
    whole.fit(data(), data())
    again = trainer(name, kind(tmp_path / "kept again"))
    again.fit(data(), data(), resume=read_checkpoint(tmp_path / "kept"))
    for key, tensor in whole.module.state_dict().items():
        assert torch.equal(tensor, again.module.state_dict()[key]), key
