"""Schedules against torch's own, stepped beside them, and against published formulas, at every step."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim import Optimizer, lr_scheduler

from neuro_divergent.training.schedules.base import Plan, Schedule
from neuro_divergent.training.schedules.chain import Chain, Product
from neuro_divergent.training.schedules.cosine import Cosine, CosineRestarts, WarmupCosine
from neuro_divergent.training.schedules.cyclic import Cyclic
from neuro_divergent.training.schedules.exponential import Exponential
from neuro_divergent.training.schedules.inverse_sqrt import InverseSqrt
from neuro_divergent.training.schedules.linear import Linear, WarmupLinear
from neuro_divergent.training.schedules.one_cycle import OneCycle
from neuro_divergent.training.schedules.plateau import Plateau
from neuro_divergent.training.schedules.polynomial import Polynomial
from neuro_divergent.training.schedules.step import MultiStep, StepDecay

STEPS, PER_EPOCH = 120, 6
PLAN = Plan(STEPS, PER_EPOCH)
EPOCHS = STEPS // PER_EPOCH


def optimizer(lr: float = 0.1) -> Optimizer:
    parameters = [{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 3 * lr}]
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9)


def groups(target: Optimizer) -> list[float]:
    return [group["lr"] for group in target.param_groups]


def ours(schedule: Schedule, plan: Plan = PLAN) -> list[list[float]]:
    target = optimizer()
    scheduler = schedule.start(target, plan)
    found = []
    for _ in range(plan.total_steps):
        found.append(groups(target))
        scheduler.step()
    return found


def theirs(make: Callable[[Optimizer], lr_scheduler.LRScheduler], *, per_epoch: int = 1) -> list[list[float]]:
    """Return the rates of one of torch's schedulers that is stepped after each epoch of so many steps."""
    target = optimizer()
    scheduler = make(target)
    found = []
    for step in range(1, STEPS + 1):
        found.append(groups(target))
        target.step()
        if step % per_epoch == 0:
            scheduler.step()
    return found


def same(one: list[list[float]], other: list[list[float]]) -> None:
    assert len(one) == len(other)
    for mine, yours in zip(one, other, strict=True):
        assert mine == pytest.approx(yours, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("schedule", "make"),
    [
        (Cosine(), lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS)),
        (StepDecay(every=7, gamma=0.5, per="step"), lambda o: lr_scheduler.StepLR(o, 7, 0.5)),
        (
            MultiStep(milestones=(13, 50, 51), gamma=0.3, per="step"),
            lambda o: lr_scheduler.MultiStepLR(o, [13, 50, 51], 0.3),
        ),
        (MultiStep(milestones=(0.25, 0.5)), lambda o: lr_scheduler.MultiStepLR(o, [30, 60], 0.1)),
        (Exponential(gamma=0.97, per="step"), lambda o: lr_scheduler.ExponentialLR(o, 0.97)),
        (CosineRestarts(first_cycle=17), lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 17, 1)),
        (
            CosineRestarts(first_cycle=10, cycle_growth=2),
            lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 10, 2),
        ),
        (
            CosineRestarts(first_cycle=4, cycle_growth=3),
            lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4, 3),
        ),
        (Polynomial(power=2.0), lambda o: lr_scheduler.PolynomialLR(o, STEPS, 2.0)),
        (Polynomial(power=0.7), lambda o: lr_scheduler.PolynomialLR(o, STEPS, 0.7)),
        (Linear(initial=0.25, final=0.75), lambda o: lr_scheduler.LinearLR(o, 0.25, 0.75, STEPS)),
        *[
            (
                OneCycle(warmup=warmup, anneal=anneal, start_divisor=10, final_divisor=100),
                lambda o, warmup=warmup, word=word: lr_scheduler.OneCycleLR(
                    o, [0.1, 0.3], STEPS, pct_start=warmup, anneal_strategy=word, div_factor=10, final_div_factor=100
                ),
            )
            for warmup in (0.3, 0.25, 0.21)
            for anneal, word in (("cosine", "cos"), ("linear", "linear"))
        ],
        *[
            (
                Cyclic(cycle=up + down, rise=up / (up + down), low=0.2, shape=shape, gamma=0.99),
                lambda o, up=up, down=down, shape=shape: lr_scheduler.CyclicLR(
                    o, [0.02, 0.06], [0.1, 0.3], up, down, mode=shape, gamma=0.99, cycle_momentum=False
                ),
            )
            for up, down in ((10, 10), (5, 12))
            for shape in ("triangular", "triangular2", "exp_range")
        ],
    ],
    ids=lambda value: str(value) if isinstance(value, Schedule) else "",
)
def test_per_step_it_is_torchs(schedule: Schedule, make: Callable[[Optimizer], lr_scheduler.LRScheduler]) -> None:
    same(ours(schedule), theirs(make))


@pytest.mark.parametrize(
    ("schedule", "make"),
    [
        (Cosine(per="epoch"), lambda o: lr_scheduler.CosineAnnealingLR(o, EPOCHS)),
        (StepDecay(every=3, gamma=0.5), lambda o: lr_scheduler.StepLR(o, 3, 0.5)),
        (MultiStep(milestones=(4, 11), gamma=0.3), lambda o: lr_scheduler.MultiStepLR(o, [4, 11], 0.3)),
        (Exponential(gamma=0.9), lambda o: lr_scheduler.ExponentialLR(o, 0.9)),
        (
            CosineRestarts(first_cycle=3, cycle_growth=2, per="epoch"),
            lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2),
        ),
        (Polynomial(power=3.0, per="epoch"), lambda o: lr_scheduler.PolynomialLR(o, EPOCHS, 3.0)),
        (Linear(initial=0.5, final=1.0, per="epoch"), lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, EPOCHS)),
        (
            OneCycle(per="epoch"),
            lambda o: lr_scheduler.OneCycleLR(o, [0.1, 0.3], EPOCHS),
        ),
        (
            Cyclic(cycle=8, low=0.1, per="epoch"),
            lambda o: lr_scheduler.CyclicLR(o, [0.01, 0.03], [0.1, 0.3], 4, cycle_momentum=False),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Schedule) else "",
)
def test_per_epoch_it_is_torchs_stepped_once_an_epoch(
    schedule: Schedule, make: Callable[[Optimizer], lr_scheduler.LRScheduler]
) -> None:
    # torch's OneCycleLR refuses the step after its last; the rates before it are all there are.
    same(ours(schedule)[:-PER_EPOCH], theirs(make, per_epoch=PER_EPOCH)[:-PER_EPOCH])


def test_the_final_rate_is_a_fraction_of_the_full_one() -> None:
    for step, (rate, other) in enumerate(ours(Cosine(final=0.2))):
        height = 0.2 + 0.8 * 0.5 * (1 + math.cos(math.pi * step / STEPS))
        assert (rate, other) == pytest.approx((0.1 * height, 0.3 * height))
    for step, (rate, _) in enumerate(ours(CosineRestarts(first_cycle=40, final=0.2))):
        assert rate == pytest.approx(0.1 * (0.2 + 0.4 * (1 + math.cos(math.pi * (step % 40) / 40))))
    for step, (rate, _) in enumerate(ours(Polynomial(power=2, final=0.2))):
        assert rate == pytest.approx(0.1 * (0.2 + 0.8 * (1 - step / STEPS) ** 2))


@pytest.mark.parametrize(("warmup", "rise"), [(0.1, 12), (0.0, 0), (30, 30), (0.5, 60)])
def test_warm_up_rises_in_a_line_and_falls_in_a_cosine_or_a_line(warmup: float, rise: int) -> None:
    curved, straight = ours(WarmupCosine(warmup=warmup)), ours(WarmupLinear(warmup=warmup, final=0.1))
    for step in range(STEPS):
        progress = (step - rise) / (STEPS - rise)
        up = (step + 1) / (rise + 1)
        assert curved[step][0] == pytest.approx(0.1 * (up if step < rise else 0.5 * (1 + math.cos(math.pi * progress))))
        assert straight[step][0] == pytest.approx(0.1 * (up if step < rise else 1 - 0.9 * progress))
    assert max(curved)[0] == pytest.approx(0.1)


def test_inverse_square_root_is_the_formula_of_the_transformer_paper() -> None:
    """The paper has ``size ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)``, which peaks at ``warmup``."""
    size, warmup = 512, 40

    def paper(step: int) -> float:
        return float(size**-0.5 * min(step**-0.5, step * warmup**-1.5))

    for step, (rate, _) in enumerate(ours(InverseSqrt(warmup=warmup))):
        assert rate == pytest.approx(0.1 * paper(step + 1) / paper(warmup))


def test_a_chain_is_torchs_sequence() -> None:
    def sequence(target: Optimizer) -> lr_scheduler.LRScheduler:
        parts = [
            lr_scheduler.LinearLR(target, 0.1, 1.0, 12),
            lr_scheduler.ConstantLR(target, 1.0),
            lr_scheduler.CosineAnnealingLR(target, 78),
        ]
        return lr_scheduler.SequentialLR(target, parts, [12, 42])

    chain = Chain([(Linear(initial=0.1, final=1.0), 2), ("constant", 5), "cosine"])
    found, expected = ours(chain), theirs(sequence)
    # torch's cosine is recursive and starts from the rate it finds; ours is the closed form. Both are the same curve.
    same(found, expected)


def test_a_product_is_torchs_chained_scheduler() -> None:
    def both(target: Optimizer) -> object:
        return lr_scheduler.ChainedScheduler(
            [lr_scheduler.ExponentialLR(target, 0.98), lr_scheduler.StepLR(target, 25, 0.5)], optimizer=target
        )

    product = Product([Exponential(gamma=0.98, per="step"), StepDecay(every=25, gamma=0.5, per="step")])
    same(ours(product), theirs(both))  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(
    losses=st.lists(st.floats(0.01, 10), min_size=1, max_size=60),
    patience=st.integers(0, 4),
    cooldown=st.integers(0, 3),
    threshold=st.sampled_from([0.0, 1e-4, 0.1]),
    min_lr=st.sampled_from([0.0, 0.004]),
)
def test_plateau_is_torchs_for_losses_above_zero(
    losses: list[float], patience: int, cooldown: int, threshold: float, min_lr: float
) -> None:
    mine, yours = optimizer(), optimizer()
    schedule = Plateau(gamma=0.5, patience=patience, cooldown=cooldown, threshold=threshold, min_lr=min_lr)
    scheduler = schedule.start(mine, PLAN)
    reference = lr_scheduler.ReduceLROnPlateau(
        yours, factor=0.5, patience=patience, cooldown=cooldown, threshold=threshold, min_lr=min_lr, eps=0
    )
    for loss in losses:
        scheduler.step()
        scheduler.validated(loss)
        reference.step(loss)
        assert groups(mine) == pytest.approx(groups(yours), rel=1e-12)


def test_plateau_takes_only_a_lower_loss_for_better_when_losses_are_negative() -> None:
    target = optimizer()
    scheduler = Plateau(gamma=0.5, patience=0, threshold=0.01).start(target, PLAN)
    for loss, rate in [(-10.0, 0.1), (-10.05, 0.05), (-10.2, 0.05), (-10.19, 0.025)]:
        scheduler.validated(loss)
        assert target.param_groups[0]["lr"] == pytest.approx(rate)
