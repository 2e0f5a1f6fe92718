"""What clients and rules do together on losses whose optimum is known."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.federated.aggregation.base import Aggregation
from neuro_divergent.training.gradients.transforms.base import GradientTransform

CURVATURES, OPTIMA = (1.0, 4.0), (-1.0, 2.0)
LEARNING_RATE = 0.05


class Point(torch.nn.Module):
    """One weight ``w``; for an input ``b`` it returns the square root of the cost, ``sqrt(a / 2) * (w - b)``."""

    def __init__(self, start: float, curvature: float) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([start], dtype=torch.float64))
        self.curvature = curvature

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return (self.curvature / 2) ** 0.5 * (self.w - inputs)


def descend(
    start: float, curvature: float, optimum: float, steps: int, transforms: list[GradientTransform] | None = None
) -> float:
    """Return the weight after steps of gradient descent on ``a / 2 * (w - b)^2``, by the trainer."""
    point = Point(start, curvature)
    config = nd.TrainingConfig(
        max_steps=steps, max_epochs=None, batch_size=1, clip=None, schedule=nd.schedules.Constant(), average=None,
        optimizer=nd.optimizers.SGD(lr=LEARNING_RATE, momentum=0.0), early_stopping=None, precision="float64",
    )  # fmt: skip
    data = torch.tensor([[optimum]], dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    nd.Trainer(point, nd.losses.MSE(), config, gradient_transforms=transforms or []).fit(data)
    return float(point.w.detach())


def vector(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_a_client_of_fedprox_ends_between_its_optimum_and_the_start() -> None:
    curvature, optimum, start, mu = 4.0, 2.0, -1.0, 3.0
    transforms = nd.federated.FedProx(mu=mu).transforms({"w": vector(start)}, {})
    found = descend(start, curvature, optimum, 400, transforms)
    assert found == pytest.approx((curvature * optimum + mu * start) / (curvature + mu), abs=1e-10)


def test_fedprox_without_a_pull_changes_no_gradient() -> None:
    assert nd.federated.FedProx(mu=0.0).transforms({"w": vector(1.0)}, {}) == []


def test_fedavg_with_several_local_steps_ends_at_the_fixed_point_that_drift_gives() -> None:
    weight = 0.0
    for _ in range(60):
        ends = [descend(weight, a, b, 10) for a, b in zip(CURVATURES, OPTIMA, strict=True)]
        weight = float(np.mean(ends))
    shrinkages = [1 - (1 - LEARNING_RATE * a) ** 10 for a in CURVATURES]
    expected = np.dot(shrinkages, OPTIMA) / np.sum(shrinkages)
    assert weight == pytest.approx(expected, abs=1e-8)
    assert abs(weight - np.dot(CURVATURES, OPTIMA) / np.sum(CURVATURES)) > 0.05


def test_scaffold_with_several_local_steps_ends_at_the_optimum_of_all_clients() -> None:
    rule, steps = nd.federated.Scaffold(), 10
    weights = vector(0.0)
    state = rule.init_state(weights)
    kept: list[dict[str, torch.Tensor]] = [{}, {}]
    for _ in range(120):
        deltas, messages = [], []
        sent = rule.to_clients(state)
        for place, (a, b) in enumerate(zip(CURVATURES, OPTIMA, strict=True)):
            received = {name: {"w": item} for name, item in sent.items()}
            received |= {f"own_{name}": {"w": item} for name, item in kept[place].items()}
            transforms = rule.transforms({"w": weights}, received)
            delta = vector(descend(float(weights), a, b, steps, transforms)) - weights
            message, kept[place] = rule.finish_client(delta, steps, LEARNING_RATE, sent, kept[place])
            deltas.append(delta)
            messages.append(message)
        direction = rule.combine(torch.stack(deltas), torch.full((2,), 0.5, dtype=torch.float64))
        weights, state = rule.step(weights, direction, state)
        state = rule.from_clients(messages, 2, state)
    assert float(weights) == pytest.approx(np.dot(CURVATURES, OPTIMA) / np.sum(CURVATURES), abs=1e-6)


@pytest.mark.parametrize(
    "optimizer", [nd.optimizers.AdamW(), nd.optimizers.SGD(momentum=0.9), nd.optimizers.SGD(weight_decay=0.1)]
)
def test_scaffold_refuses_what_is_not_plain_gradient_descent(optimizer: object) -> None:
    with pytest.raises(nd.errors.ConfigError, match="scaffold needs plain SGD"):
        Aggregation.from_dict("scaffold").check_training(nd.TrainingConfig(optimizer=optimizer))


def test_optimizer_that_scaffold_asks_for_is_one_that_it_accepts() -> None:
    rule = Aggregation.from_dict("scaffold")
    with pytest.raises(nd.errors.ConfigError) as refused:
        rule.check_training(nd.TrainingConfig())
    [advice] = re.findall(r"nd\.optimizers\.SGD\(.*?\)", str(refused.value))
    settings = dict(setting.split("=") for setting in re.findall(r"\w+=\d+", advice))
    optimizer = nd.optimizers.SGD(**{name: float(value) for name, value in settings.items()})
    rule.check_training(nd.TrainingConfig(optimizer=optimizer))
