"""What every schedule must do."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.schedules.base import Plan, Schedule
from neuro_divergent.training.schedules.chain import Chain, Product
from neuro_divergent.training.schedules.function import FunctionSchedule
from neuro_divergent.training.schedules.plateau import Plateau

NAMES = Schedule.registry.names()
PLAN = Plan(total_steps=60, steps_per_epoch=6)
# A chain and a product that react to validation are as good as any.
MORE = {
    "chain with plateau": Chain([("linear", 0.3), (Plateau(patience=1), 0.4), "exponential"]),
    "product with plateau": Product([Plateau(patience=1, cooldown=2), "one_cycle"]),
    "chain in a chain": Chain([(Chain([("cosine", 0.5), "step"]), 0.5), Product(["cyclic", "linear"])]),
}
ALL = [*NAMES, *MORE]


def example(name: str) -> Schedule:
    """Return a schedule with its defaults; a function has none that could run."""
    if name in MORE:
        return MORE[name]
    return FunctionSchedule(lambda step: 1 / (1 + step)) if name == "function" else Schedule.from_dict(name)


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 0.2}], lr=0.1)


def rates(target: torch.optim.Optimizer) -> list[float]:
    return [group["lr"] for group in target.param_groups]


@pytest.mark.parametrize("name", ALL)
def test_rates_of_the_defaults_stay_between_zero_and_the_full_rate(name: str) -> None:
    target = optimizer()
    scheduler = example(name).start(target, PLAN)
    for _ in range(PLAN.total_steps):
        assert 0 <= target.param_groups[0]["lr"] <= 0.1 + 1e-12
        scheduler.step()


@pytest.mark.parametrize("name", ALL)
def test_groups_keep_their_proportion(name: str) -> None:
    target = optimizer()
    scheduler = example(name).start(target, PLAN)
    for step in range(PLAN.total_steps):
        assert target.param_groups[1]["lr"] == pytest.approx(2 * target.param_groups[0]["lr"], rel=1e-12, abs=0)
        scheduler.step()
        if step % 3 == 0:
            scheduler.validated(1.0)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("stopped", [1, 17, 25, 42])
def test_takes_up_its_state_again_as_if_never_stopped(name: str, stopped: int) -> None:
    schedule = example(name)
    losses = [1 / (1 + step) if step < 12 else 0.1 for step in range(PLAN.total_steps)]

    def run(target: torch.optim.Optimizer, scheduler: object, steps: range) -> list[list[float]]:
        found = []
        for step in steps:
            scheduler.step()  # type: ignore[attr-defined]
            if step % 2 == 0:
                scheduler.validated(losses[step])  # type: ignore[attr-defined]
            found.append(rates(target))
        return found

    whole = optimizer()
    uninterrupted = run(whole, schedule.start(whole, PLAN), range(PLAN.total_steps))
    first = optimizer()
    scheduler = schedule.start(first, PLAN)
    run(first, scheduler, range(stopped))
    # The state goes through a file, and the optimizer takes up its own first.
    state = json.loads(json.dumps(scheduler.state_dict()))
    second = optimizer()
    resumed = schedule.start(second, PLAN)
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(state)
    assert rates(second) == rates(first)
    assert run(second, resumed, range(stopped, PLAN.total_steps)) == uninterrupted[stopped:]


@pytest.mark.parametrize("name", ALL)
def test_a_course_without_validation_follows_the_factor(name: str) -> None:
    schedule = example(name)
    course = schedule.begin(PLAN)
    for step in range(PLAN.total_steps + 5):
        assert course.rate(0.3) == pytest.approx(0.3 * schedule.factor(step, PLAN), rel=1e-12, abs=0)
        course.step()


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40, deadline=None)
@given(total=st.integers(0, 5000), per_epoch=st.integers(0, 5000), step=st.integers(0, 20_000))
def test_factors_are_finite_and_not_negative_for_any_plan(name: str, total: int, per_epoch: int, step: int) -> None:
    factor = example(name).factor(step, Plan(total, per_epoch))
    assert math.isfinite(factor)
    assert factor >= 0


@pytest.mark.parametrize("name", [name for name in NAMES if "per" in Schedule.registry.get(name).model_fields])
def test_per_epoch_the_rate_stays_for_an_epoch(name: str) -> None:
    schedule = example(name).replace(per="epoch")
    plan = Plan(total_steps=48, steps_per_epoch=6)  # milestones at shares of it are at the end of an epoch, too
    for epoch in range(8):
        factors = {schedule.factor(epoch * 6 + step, plan) for step in range(6)}
        assert len(factors) == 1


@pytest.mark.parametrize("name", ALL)
def test_survives_a_dict_and_toml(name: str) -> None:
    schedule = example(name)
    again = Schedule.from_dict(schedule.to_dict())
    assert again.to_dict() == schedule.to_dict()
    assert type(schedule).from_toml(schedule.to_toml()).to_dict() == schedule.to_dict()
    if name != "function":
        assert again == schedule


def test_a_function_that_was_not_passed_is_missed_at_the_start() -> None:
    with pytest.raises(ConfigError, match="no function was given"):
        FunctionSchedule().start(optimizer(), PLAN)


def test_a_group_that_is_added_later_follows_from_its_own_rate() -> None:
    target = optimizer()
    scheduler = Schedule.from_dict("linear").start(target, PLAN)
    for _ in range(30):
        scheduler.step()
    target.add_param_group({"params": [torch.zeros(1)], "lr": 0.4})
    scheduler.step()
    assert rates(target) == pytest.approx([0.1 * 29 / 60, 0.2 * 29 / 60, 0.4 * 29 / 60])
