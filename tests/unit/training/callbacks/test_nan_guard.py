"""Gradients that are not finite are found, named and kept away from the weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.training.callbacks.nan_guard import NanGuard
from tests.unit.training.callbacks.example import config, line


class Root(nn.Module):
    """Has a finite output everywhere, and at an offset of 0 an infinite gradient for the offset alone."""

    def __init__(self, offset: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.line = nn.Linear(3, 1)
        self.offset = nn.Parameter(torch.tensor(offset))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.line(inputs) + self.offset.abs().sqrt()


def fit(module: nn.Module, *callbacks: nd.Callback, **changes: Any) -> nd.Trainer:
    settings = config(**{"clip": None, "early_stopping": None, **changes})
    training = nd.Trainer(module, nd.MSE(), settings, callbacks=callbacks)
    training.fit(line())
    return training


def test_the_parameter_and_the_step_are_named_and_the_weights_are_kept() -> None:
    module = Root(0.0)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    with pytest.raises(nd.DivergedError, match=r"gradient of 'offset' is not finite at step 1 \(1 of 3 parameters\)"):
        fit(module, NanGuard())
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_without_the_guard_the_weights_are_lost() -> None:
    """What the guard is for: the same training without it."""
    module = Root(0.0)
    with pytest.raises(nd.DivergedError, match="loss became nan"):
        fit(module)
    assert not module.offset.isfinite()


def test_finite_training_is_left_alone() -> None:
    plain, guarded = Root(0.5), Root(0.5)
    fit(plain)
    fit(guarded, NanGuard())
    assert all(torch.equal(one, two) for one, two in zip(plain.parameters(), guarded.parameters(), strict=True))


def test_large_but_finite_gradients_are_no_alarm() -> None:
    """The sum of their squares would overflow."""
    module = nn.Linear(3, 1)
    training = nd.Trainer(module, nd.MSE(), config(max_steps=1), callbacks=[])
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, 3e38)
    NanGuard().gradients_ready(training)


class Poison(nd.Callback):
    """Spoils a gradient at some steps; it must come before the guard."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps
        self.weights: dict[int, Tensor] = {}

    def gradients_ready(self, trainer: nd.Trainer) -> None:
        self.weights[trainer.state.step] = trainer.module.weight.detach().clone()
        if trainer.state.step in self.steps:
            trainer.module.weight.grad[0, 1] = torch.nan


def test_a_skipped_step_changes_nothing() -> None:
    guard, poison = NanGuard("skip"), Poison(3, 4, 9)
    training = fit(nn.Linear(3, 1), poison, guard)
    assert training.state.step == 30
    assert guard.skipped == 3
    unchanged = [step for step in range(29) if torch.equal(poison.weights[step], poison.weights[step + 1])]
    assert unchanged == [3, 4, 9]
    assert training.module.weight.isfinite().all()


def test_skipping_comes_to_an_end() -> None:
    guard = NanGuard("skip", patience=3)
    with pytest.raises(nd.DivergedError, match=r"'weight' is not finite at step 8 .* in a row: 3"):
        fit(nn.Linear(3, 1), Poison(1, 2, 5, 6, 7), guard)
    assert guard.skipped == 5


def test_a_loss_that_is_not_finite_is_told_apart() -> None:
    inputs, targets = line()
    targets[:] = torch.inf
    training = nd.Trainer(nn.Linear(3, 1), nd.MSE(), config(clip=None), callbacks=[NanGuard()])
    with pytest.raises(nd.DivergedError, match="no parameter has a finite gradient at step 1"):
        training.fit((inputs, targets))


def test_many_names_are_shortened() -> None:
    module = nn.Sequential(*(nn.Linear(1, 1) for _ in range(6)))
    for name, parameter in module.named_parameters():
        parameter.grad = torch.full_like(parameter, torch.nan if "weight" in name else 1.0)
    with pytest.raises(nd.DivergedError, match=r"'4\.weight' and 1 more is not finite at step 1 \(6 of 12"):
        NanGuard().gradients_ready(nd.Trainer(module, nd.MSE(), config()))


def test_parameters_without_gradients_are_no_trouble() -> None:
    module = nn.Linear(3, 1)
    guard = NanGuard()
    guard.gradients_ready(nd.Trainer(module, nd.MSE(), config()))
    module.bias.requires_grad_(False)
    fit(module, guard)
    assert guard.skipped == 0


def test_overflow_in_fp16_is_left_to_the_scaling_of_the_loss() -> None:
    module = nn.Linear(3, 1)
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, torch.inf)
    NanGuard().gradients_ready(nd.Trainer(module, nd.MSE(), config(precision="fp16")))
    with pytest.raises(nd.DivergedError):
        NanGuard().gradients_ready(nd.Trainer(module, nd.MSE(), config()))


def test_counts_survive() -> None:
    guard = NanGuard("skip")
    fit(nn.Linear(3, 1), Poison(3, 29), guard)
    again = NanGuard("skip")
    again.load_state_dict(guard.state_dict())
    assert again.state_dict() == {"skipped": 2, "in_a_row": 1}


def test_settings_are_checked() -> None:
    with pytest.raises(nd.ConfigError, match="Did you mean 'skip'"):
        NanGuard("skipp")  # type: ignore[arg-type]
    with pytest.raises(nd.ConfigError, match="at least 1"):
        NanGuard(patience=0)
