"""Problems with a known answer are solved, with each optimizer and each schedule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.losses.classification import CrossEntropy
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Schedule
from neuro_divergent.training.schedules.function import FunctionSchedule

Data = tuple[Tensor, Tensor]


def perceptron(*sizes: int) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def line() -> Data:
    inputs = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    return inputs, inputs @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.3


def exclusive_or() -> Data:
    corners = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]).repeat(16, 1)
    return corners, (corners[:, 0] != corners[:, 1]).long()


def sine() -> Data:
    angle = torch.linspace(-math.pi, math.pi, 64)[:, None]
    return angle / 2, angle.sin()


def spirals() -> Data:
    """Two arms of one and a quarter turns each."""
    radius = torch.linspace(0.15, 1.0, 64)
    angles = [2.5 * math.pi * radius + arm * math.pi for arm in (0, 1)]
    points = [torch.stack([radius * angle.cos(), radius * angle.sin()], 1) for angle in angles]
    return 2 * torch.cat(points), torch.arange(2).repeat_interleave(64)


def unexplained(output: Tensor, target: Tensor) -> float:
    """Return 1 - R2."""
    return float((output - target).square().sum() / (target - target.mean()).square().sum())


def squared_error(output: Tensor, target: Tensor) -> float:
    return float((output - target).square().mean())


def wrong(output: Tensor, target: Tensor) -> float:
    return float((output.argmax(-1) != target).float().mean())


@dataclass(frozen=True)
class Problem:
    """What to learn, in how many steps, and how good is good enough."""

    data: Callable[[], Data]
    network: Callable[[], nn.Module]
    loss: Any
    steps: int
    score: Callable[[Tensor, Tensor], float]
    limit: float


PROBLEMS = {
    "line": Problem(line, lambda: nn.Linear(3, 1), nd.losses.MSE(), 300, unexplained, 1e-6),
    "xor": Problem(exclusive_or, lambda: perceptron(2, 8, 2), CrossEntropy(), 100, wrong, 0.0),
    "sine": Problem(sine, lambda: perceptron(1, 16, 16, 1), nd.losses.MSE(), 300, squared_error, 0.01),
    "spirals": Problem(spirals, lambda: perceptron(2, 24, 24, 2), CrossEntropy(), 300, wrong, 0.05),
}

# The rate for a straight line, which can be learned fast, and for networks.
RATES = {
    "adabound": (0.1, 0.1),
    "adadelta": (30.0, 60.0),
    "adagrad": (1.0, 0.2),
    "adam": (0.3, 0.05),
    "adamax": (0.3, 0.1),
    "adamw": (0.3, 0.05),
    "adan": (1.0, 0.1),
    "lamb": (0.03, 0.03),
    "lion": (0.1, 0.01),
    "lookahead": (0.3, 0.1),
    "muon": (0.3, 0.05),
    "nadam": (0.1, 0.05),
    "prodigy": (1.0, 1.0),
    "radam": (0.3, 0.2),
    "rmsprop": (0.1, 0.02),
    "schedule_free_adamw": (0.3, 0.05),
    "schedule_free_sgd": (1.0, 0.5),
    "sgd": (0.1, 0.2),
}
# Without a scale for each weight, networks take longer, and longer still without momentum.
PATIENCE = {"sgd": 2, "schedule_free_sgd": 4}
# Schedules that cannot be tried as they are.
SCHEDULES: dict[str, Schedule] = {
    "function": FunctionSchedule(lambda step: 1 / (1 + step / 100)),  # has none by itself
}


def optimizer(name: str, problem: str) -> Optimizer:
    """Return an optimizer with a rate that suits; weight decay would keep it from the exact answer."""
    settings: dict[str, Any] = {"lr": RATES[name][problem != "line"]}
    if name == "lookahead":
        settings["base"] = {"name": "adamw", "weight_decay": 0.0}
    else:
        settings["weight_decay"] = 0.0
    return Optimizer.from_dict({"name": name, **settings})


def solve(problem: Problem, trained_by: Optimizer, schedule: Schedule | str, patience: int = 1) -> float:
    """Train and return the score."""
    torch.manual_seed(1)
    module, (inputs, target) = problem.network(), problem.data()
    config = nd.TrainingConfig(
        max_steps=patience * problem.steps,
        batch_size=len(inputs) // 4,
        optimizer=trained_by,
        schedule=schedule,
        clip=None,
        early_stopping=None,
        validate_every=20,
        threads=1,
    )
    validation = problem.data() if config.schedule.name == "plateau" else None
    nd.Trainer(module, problem.loss, config).fit((inputs, target), validation)
    with torch.no_grad():
        return problem.score(module(inputs), target)


@pytest.mark.parametrize("name", Optimizer.registry.names())
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_optimizer_gets_there(name: str, problem: str) -> None:
    schedule = "constant" if name.startswith("schedule_free") else "cosine"
    score = solve(PROBLEMS[problem], optimizer(name, problem), schedule, PATIENCE.get(name, 1))
    assert score <= PROBLEMS[problem].limit


@pytest.mark.parametrize("name", Schedule.registry.names())
@pytest.mark.parametrize("problem", ["line", "xor", "sine"])
def test_every_schedule_gets_there(name: str, problem: str) -> None:
    score = solve(PROBLEMS[problem], optimizer("adamw", problem), SCHEDULES.get(name, name))
    assert score <= PROBLEMS[problem].limit


@pytest.mark.parametrize("name", ["constant", "one_cycle", "plateau", "warmup_cosine"])
def test_schedules_of_each_kind_tell_the_spirals_apart(name: str) -> None:
    assert solve(PROBLEMS["spirals"], optimizer("adamw", "spirals"), name) <= PROBLEMS["spirals"].limit


@pytest.mark.parametrize("problem", PROBLEMS)
def test_without_training_nothing_is_solved(problem: str) -> None:
    idle = Problem(**{**vars(PROBLEMS[problem]), "steps": 1})
    assert solve(idle, optimizer("adamw", problem), "constant") > PROBLEMS[problem].limit
