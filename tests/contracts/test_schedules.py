"""What every schedule must do, and the formulas of those that have one, against torch's own."""

from __future__ import annotations

import math

import pytest
import torch
from torch.optim import lr_scheduler

from neuro_divergent.training.schedules.base import Plan, Schedule
from neuro_divergent.training.schedules.cosine import Cosine, WarmupCosine
from neuro_divergent.training.schedules.plateau import Plateau
from neuro_divergent.training.schedules.step import StepDecay

NAMES = Schedule.registry.names()
PLAN = Plan(total_steps=60, steps_per_epoch=6)


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 0.2}], lr=0.1)


def rates(schedule: Schedule) -> list[float]:
    target = optimizer()
    pace = schedule.start(target, PLAN)
    found = []
    for _ in range(PLAN.total_steps):
        found.append(target.param_groups[0]["lr"])
        pace.step()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_rates_stay_between_zero_and_the_full_rate(name: str) -> None:
    assert all(0 <= rate <= 0.1 + 1e-12 for rate in rates(Schedule.from_dict(name)))


@pytest.mark.parametrize("name", NAMES)
def test_groups_keep_their_proportion(name: str) -> None:
    target = optimizer()
    pace = Schedule.from_dict(name).start(target, PLAN)
    for _ in range(20):
        pace.step()
        assert target.param_groups[1]["lr"] == pytest.approx(2 * target.param_groups[0]["lr"])


@pytest.mark.parametrize("name", NAMES)
def test_takes_up_its_state_again(name: str) -> None:
    first, second = optimizer(), optimizer()
    schedule = Schedule.from_dict(name)
    running = schedule.start(first, PLAN)
    for step in range(25):
        running.step()
        if step % 5 == 0:
            running.validated(1.0)
    resumed = schedule.start(second, PLAN)
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(running.state_dict())
    for _ in range(10):
        running.step()
        resumed.step()
        running.validated(1.0)
        resumed.validated(1.0)
        assert [group["lr"] for group in first.param_groups] == [group["lr"] for group in second.param_groups]


def torch_rates(make: object) -> list[float]:
    target = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    scheduler = make(target)  # type: ignore[operator]
    found = []
    for _ in range(PLAN.total_steps):
        found.append(target.param_groups[0]["lr"])
        target.step()
        scheduler.step()
    return found


def test_cosine_is_torchs_cosine() -> None:
    theirs = torch_rates(lambda target: lr_scheduler.CosineAnnealingLR(target, PLAN.total_steps, eta_min=0.01))
    assert rates(Cosine(final=0.1)) == pytest.approx(theirs)


def test_step_decay_is_torchs_step_of_epochs() -> None:
    theirs = torch_rates(lambda target: lr_scheduler.StepLR(target, 3 * PLAN.steps_per_epoch, gamma=0.5))
    assert rates(StepDecay(every=3, gamma=0.5)) == pytest.approx(theirs)


def test_warm_up_rises_in_a_line_and_falls_in_a_cosine() -> None:
    found = rates(WarmupCosine(warmup=0.1))
    rise = 6
    for step, rate in enumerate(found):
        if step < rise:
            assert rate == pytest.approx(0.1 * (step + 1) / (rise + 1))
        else:
            assert rate == pytest.approx(0.05 * (1 + math.cos(math.pi * (step - rise) / (60 - rise))))
    assert max(found) == pytest.approx(0.1)


def test_plateau_falls_after_its_patience_and_not_below_its_floor() -> None:
    target = optimizer()
    pace = Plateau(gamma=0.5, patience=2, min_lr=0.03).start(target, PLAN)
    found = []
    for _ in range(10):
        pace.validated(1.0)
        found.append(target.param_groups[0]["lr"])
    # The first loss is the best; two more are borne, the next one makes the rate fall.
    assert found == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.03, 0.03, 0.03])
