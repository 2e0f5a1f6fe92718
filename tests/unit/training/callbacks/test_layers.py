"""Norms by layer against norms computed by hand."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.runs.events import layers_of, read_events
from neuro_divergent.training.callbacks.events import EventLog
from neuro_divergent.training.callbacks.layers import LayerMonitor
from tests.unit.training.callbacks.example import line, trainer


class ByHand(nd.callbacks.Callback):
    """Keeps weights and gradients of each step as numpy arrays."""

    def __init__(self) -> None:
        self.before: dict[str, Any] = {}
        self.found: dict[tuple[int, str], tuple[float | None, float, float]] = {}

    def gradients_ready(self, trainer: nd.Trainer) -> None:
        self.before = {
            name: (None if item.grad is None else item.grad.numpy().copy(), item.detach().numpy().copy())
            for name, item in trainer.module.named_parameters()
        }

    def step_end(self, trainer: nd.Trainer) -> None:
        for name, item in trainer.module.named_parameters():
            gradient, weight = self.before[name]
            norm = None if gradient is None else float(np.sqrt(np.sum(np.square(gradient, dtype=float))))
            change = np.sqrt(np.sum(np.square(item.detach().numpy() - weight, dtype=float)))
            size = np.sqrt(np.sum(np.square(weight, dtype=float)))
            self.found[trainer.state.step, name] = (norm, float(size), float(change))


def measured(module: nn.Module, run: Path, **changes: Any) -> tuple[ByHand, Any]:
    events, by_hand = EventLog(run / "events.jsonl"), ByHand()
    trainer(LayerMonitor(events, fraction=1), events, by_hand, module=module, **changes).fit(line())
    return by_hand, layers_of(read_events(run, "start", "layers"))


def small() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "rmsprop"])
def test_norms_are_those_of_the_step(tmp_path: Path, optimizer: str) -> None:
    by_hand, found = measured(small(), tmp_path, optimizer=optimizer, log_every=5, max_steps=20, clip=nd.ClipNorm(0.1))
    assert found["step"].unique(maintain_order=True).to_list() == [5, 10, 15, 20]
    assert found["layer"].unique(maintain_order=True).to_list() == ["0.weight", "0.bias", "2.weight", "2.bias"]
    for row in found.iter_rows(named=True):
        gradient, weight, update = by_hand.found[row["step"], row["layer"]]
        assert row["gradient"] == pytest.approx(gradient, rel=1e-5)
        assert row["weight"] == pytest.approx(weight, rel=1e-5)
        assert row["update"] == pytest.approx(update, rel=1e-4)
        assert row["update"] > 0
        assert row["gradient"] <= 0.1 * (1 + 1e-5)


def test_a_frozen_layer_has_no_gradient(tmp_path: Path) -> None:
    module = small()
    module[0].weight.requires_grad_(False)  # type: ignore[index, union-attr]
    by_hand, found = measured(module, tmp_path, log_every=10)
    for row in found.iter_rows(named=True):
        if row["layer"] == "0.weight":
            assert (row["gradient"], row["weight"], row["update"]) == (None, None, None)
            assert by_hand.found[row["step"], row["layer"]][0] is None
        else:
            assert row["update"] == pytest.approx(by_hand.found[row["step"], row["layer"]][2], rel=1e-4)


def test_a_long_training_is_measured_about_two_hundred_times(tmp_path: Path) -> None:
    _, found = measured(small(), tmp_path, log_every=1, max_steps=600)
    steps = found["step"].unique(maintain_order=True).to_list()
    assert steps == list(range(3, 601, 3))


class Mixed(nn.Module):
    """Has numbers of two widths."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow = nn.Parameter(torch.ones(3, 1))
        self.wide = nn.Parameter(torch.ones(1, dtype=torch.float64))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values @ self.narrow + self.wide.float()


def test_parameters_of_different_widths_are_measured_together(tmp_path: Path) -> None:
    by_hand, found = measured(Mixed(), tmp_path, optimizer=nd.optimizers.SGD(lr=0.01), log_every=10, max_steps=10)
    assert found["layer"].to_list() == ["narrow", "wide"]
    for row in found.iter_rows(named=True):
        expected = by_hand.found[row["step"], row["layer"]]
        assert (row["gradient"], row["weight"], row["update"]) == pytest.approx(expected, rel=1e-4)


def test_hooks_are_taken_away_at_the_end(tmp_path: Path) -> None:
    events = EventLog(tmp_path / "events.jsonl")
    training = trainer(LayerMonitor(events, fraction=1), events)
    training.fit(line())
    assert not training.optimizer._optimizer_step_pre_hooks
    assert not training.optimizer._optimizer_step_post_hooks


def test_layer_monitor_takes_no_more_than_its_fraction_of_the_time(tmp_path: Path) -> None:
    class Slow(EventLog):
        def write(self, event: str, **content: Any) -> None:
            if event == "layers":
                time.sleep(0.004)
            super().write(event, **content)

    events = Slow(tmp_path / "events.jsonl")
    began = time.perf_counter()
    trainer(LayerMonitor(events, fraction=0.1), events, max_steps=600, log_every=1).fit(line())
    seconds = time.perf_counter() - began
    measured = len(read_events(tmp_path, "layers"))
    assert 20 <= measured <= 21 + 0.1 * seconds / 0.004
