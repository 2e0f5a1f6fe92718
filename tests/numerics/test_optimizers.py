"""The steps of every optimizer, against its published formula written out in numpy.

A matrix is moved by given gradients, in float64. ``w`` are weights, ``g`` gradients, ``t`` the number of the step from
1; ``m`` and ``v`` are running means of gradients and of their squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.optimizers.lookahead import Lookahead
from neuro_divergent.training.optimizers.muon import Muon
from neuro_divergent.training.optimizers.orthogonal import orthogonalized
from neuro_divergent.training.optimizers.sgd import SGD

Array = np.ndarray
Steps = Iterator[Array]
STEPS = 8


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


START = draw(0, 3, 2)
GRADIENTS = {
    "constant": [draw(1, 3, 2)] * STEPS,
    "changing": [draw(10 + step, 3, 2) * 3.0 ** (step % 3) for step in range(STEPS)],
}


class Holder(nn.Module):
    """A network that is one matrix."""

    def __init__(self, start: Array) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(start, dtype=torch.float64))


def drive(module: nn.Module, parameter: nn.Parameter, config: Optimizer, gradients: list[Array]) -> list[Array]:
    """Return the weights after each step: those to train and, if they are others, those to use."""
    optimizer: Any = config.build(module)
    results = []
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
        optimizer.zero_grad()
        results.append(parameter.detach().numpy().copy())
    if config.averages:
        optimizer.eval()
        results.append(parameter.detach().numpy().copy())
    return results


def moments(gradients: list[Array], first: float, second: float) -> Iterator[tuple[int, Array, Array, Array]]:
    m = v = np.zeros_like(gradients[0])
    for t, g in enumerate(gradients, 1):
        m = first * m + (1 - first) * g
        v = second * v + (1 - second) * g**2
        yield t, g, m, v


def adam(w: Array, gradients: list[Array], lr: float, decay: float, amsgrad: bool = False) -> Steps:
    m = v = largest = np.zeros_like(w)
    for t, gradient in enumerate(gradients, 1):
        g = gradient + decay * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        largest = np.maximum(largest, v)
        w = w - lr * (m / (1 - 0.9**t)) / (np.sqrt((largest if amsgrad else v) / (1 - 0.999**t)) + 1e-8)
        yield w


def adamw(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    for t, _, m, v in moments(gradients, 0.9, 0.999):
        w = w * (1 - lr * decay) - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        yield w


def sgd(w: Array, gradients: list[Array], lr: float, decay: float, nesterov: bool = False) -> Steps:
    velocity = np.zeros_like(w)
    for gradient in gradients:
        g = gradient + decay * w
        velocity = 0.9 * velocity + g
        w = w - lr * (g + 0.9 * velocity if nesterov else velocity)
        yield w


def rmsprop(w: Array, gradients: list[Array], lr: float, decay: float, momentum: float = 0.0) -> Steps:
    v = velocity = np.zeros_like(w)
    for gradient in gradients:
        g = gradient + decay * w
        v = 0.99 * v + 0.01 * g**2
        velocity = momentum * velocity + g / (np.sqrt(v) + 1e-8)
        w = w - lr * velocity
        yield w


def radam(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    longest = 2 / (1 - 0.999) - 1
    for t, _, m, v in moments(gradients, 0.9, 0.999):
        w = w * (1 - lr * decay)
        length = longest - 2 * t * 0.999**t / (1 - 0.999**t)
        direction = m / (1 - 0.9**t)
        if length > 5:
            numerator = (length - 4) * (length - 2) * longest
            rectifier = math.sqrt(numerator / ((longest - 4) * (longest - 2) * length))
            direction = rectifier * direction * math.sqrt(1 - 0.999**t) / (np.sqrt(v) + 1e-8)
        w = w - lr * direction
        yield w


def nadam(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    product = 1.0
    for t, g, m, v in moments(gradients, 0.9, 0.999):
        now, following = (0.9 * (1 - 0.5 * 0.96 ** (step * 0.004)) for step in (t, t + 1))
        product *= now
        direction = following * m / (1 - product * following) + (1 - now) * g / (1 - product)
        w = w * (1 - lr * decay) - lr * direction / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        yield w


def adagrad(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    total = np.zeros_like(w)
    for gradient in gradients:
        g = gradient + decay * w
        total = total + g**2
        w = w - lr * g / (np.sqrt(total) + 1e-10)
        yield w


def adamax(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    m = largest = np.zeros_like(w)
    for t, gradient in enumerate(gradients, 1):
        g = gradient + decay * w
        m = 0.9 * m + 0.1 * g
        largest = np.maximum(0.999 * largest, np.abs(g) + 1e-8)
        w = w - lr / (1 - 0.9**t) * m / largest
        yield w


def adadelta(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    v = travelled = np.zeros_like(w)
    for gradient in gradients:
        g = gradient + decay * w
        v = 0.9 * v + 0.1 * g**2
        step = np.sqrt(travelled + 1e-6) / np.sqrt(v + 1e-6) * g
        travelled = 0.9 * travelled + 0.1 * step**2
        w = w - lr * step
        yield w


def lion(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    m = np.zeros_like(w)
    for g in gradients:
        w = w * (1 - lr * decay) - lr * np.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g
        yield w


def lamb(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    for _, _, m, v in moments(gradients, 0.9, 0.999):
        direction = m / (np.sqrt(v) + 1e-6) + decay * w
        size = min(np.linalg.norm(w), 10.0)
        trust = size / (np.linalg.norm(direction) + 1e-6) if size else 1.0
        w = w - lr * trust * direction
        yield w


def adabound(w: Array, gradients: list[Array], lr: float, decay: float, final: float = 0.1) -> Steps:
    for t, _, m, v in moments(gradients, 0.9, 0.999):
        size = lr * math.sqrt(1 - 0.999**t) / (1 - 0.9**t) / (np.sqrt(v + 1e-15) + 1e-8)
        size = np.clip(size, final * (1 - 1 / (0.001 * t + 1)), final * (1 + 1 / (0.001 * t)))
        w = w * (1 - lr * decay) - size * m
        yield w


def adan(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    m = difference = n = np.zeros_like(w)
    last = gradients[0]
    for t, g in enumerate(gradients, 1):
        m = 0.98 * m + 0.02 * g
        difference = 0.92 * difference + 0.08 * (g - last)
        n = 0.99 * n + 0.01 * (g + 0.92 * (g - last)) ** 2
        direction = m / (1 - 0.98**t) + 0.92 * difference / (1 - 0.92**t)
        w = (w - lr * direction / (np.sqrt(n / (1 - 0.99**t)) + 1e-8)) / (1 + lr * decay)
        last = g
        yield w


def prodigy(w: Array, gradients: list[Array], lr: float, decay: float, initial: float = 1e-6) -> Steps:
    start, distance, beta = w, initial, math.sqrt(0.999)
    m = v = s = np.zeros_like(w)
    inner = 0.0
    for g in gradients:
        now = distance
        inner = beta * inner + now / initial * now * lr * float(np.sum(g * (start - w)))
        m = 0.9 * m + 0.1 * now * g
        v = 0.999 * v + 0.001 * now**2 * g**2
        s = beta * s + now / initial * now * g
        distance = max(distance, inner / float(np.abs(s).sum()))
        w = w * (1 - now * lr * decay) - now * lr * m / (np.sqrt(v) + distance * 1e-8)
        yield w


def average(w: Array, directions: Callable[[Array], Iterator[Array]], rates: list[float], beta: float) -> Steps:
    """Yield the points where gradients are taken, and at last the average."""
    x = z = y = w
    weights: list[float] = []
    moved = directions(w)
    for t, rate in enumerate(rates):
        direction = next(moved) if t == 0 else moved.send(y)  # type: ignore[attr-defined]
        z = z - rate * direction
        weights.append(max(rates[: t + 1]) ** 2)
        share = weights[-1] / sum(weights)
        x = (1 - share) * x + share * z
        y = beta * x + (1 - beta) * z
        yield y
    yield x


def schedule_free_adamw(w: Array, gradients: list[Array], lr: float, decay: float, warmup: int = 0) -> Steps:
    def directions(y: Array) -> Any:
        for t, g, _, v in moments(gradients, 0.9, 0.999):
            y = yield g / (np.sqrt(v / (1 - 0.999**t)) + 1e-8) + decay * y

    rates = [lr * min(1.0, t / max(warmup, 1)) for t in range(1, len(gradients) + 1)]
    return average(w, directions, rates, 0.9)


def schedule_free_sgd(w: Array, gradients: list[Array], lr: float, decay: float) -> Steps:
    def directions(y: Array) -> Any:
        for g in gradients:
            y = yield g + decay * y

    return average(w, directions, [lr] * len(gradients), 0.9)


# Rates of about the defaults, so that every term counts in the comparison.
REFERENCES: dict[str, tuple[Callable[..., Steps], float]] = {
    "adabound": (adabound, 1e-2),
    "adadelta": (adadelta, 1.0),
    "adagrad": (adagrad, 1e-2),
    "adam": (adam, 1e-2),
    "adamax": (adamax, 1e-2),
    "adamw": (adamw, 1e-2),
    "adan": (adan, 1e-2),
    "lamb": (lamb, 1e-2),
    "lion": (lion, 1e-2),
    "nadam": (nadam, 1e-2),
    "prodigy": (prodigy, 1.0),
    "radam": (radam, 1e-2),
    "rmsprop": (rmsprop, 1e-2),
    "schedule_free_adamw": (schedule_free_adamw, 1e-2),
    "schedule_free_sgd": (schedule_free_sgd, 1e-1),
    "sgd": (sgd, 1e-2),
}
ELSEWHERE = {"lookahead", "muon"}  # have tests of their own below
# What the optimizer keeps in float32 whatever the weights are in.
TOLERANCES = {"nadam": 1e-7, "prodigy": 1e-6}


def compare(config: Optimizer, reference: Steps, gradients: list[Array], tolerance: float = 1e-10) -> None:
    module = Holder(START)
    results = drive(module, module.weight, config, gradients)
    expected = list(reference)
    assert len(results) == len(expected)
    for step, (ours, theirs) in enumerate(zip(results, expected, strict=True), 1):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=f"step {step}")


def test_every_optimizer_is_compared() -> None:
    assert REFERENCES.keys() | ELSEWHERE == set(Optimizer.registry.names())


@pytest.mark.parametrize("kind", GRADIENTS)
@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("name", REFERENCES)
def test_steps_follow_the_formula(name: str, decay: float, kind: str) -> None:
    reference, lr = REFERENCES[name]
    config = Optimizer.from_dict({"name": name, "lr": lr, "weight_decay": decay})
    gradients = GRADIENTS[kind]
    compare(config, reference(START, gradients, lr, decay), gradients, TOLERANCES.get(name, 1e-10))


@pytest.mark.parametrize(
    ("settings", "reference", "more"),
    [
        ({"name": "adam", "amsgrad": True}, adam, {"amsgrad": True}),
        ({"name": "sgd", "nesterov": True}, sgd, {"nesterov": True}),
        ({"name": "rmsprop", "momentum": 0.5}, rmsprop, {"momentum": 0.5}),
        ({"name": "adabound", "final_lr": 0.01}, adabound, {"final": 0.01}),  # the bounds hold from the first step
        ({"name": "schedule_free_adamw", "warmup_steps": 4}, schedule_free_adamw, {"warmup": 4}),
        # From about the right size on the estimate of the rate grows within the first steps.
        ({"name": "prodigy", "initial": 1e-2, "lr": 1.0}, prodigy, {"initial": 1e-2}),
    ],
)
def test_variants_follow_the_formula(settings: dict[str, Any], reference: Any, more: dict[str, Any]) -> None:
    lr = settings.get("lr", 1e-2)
    gradients = GRADIENTS["changing"]
    config = Optimizer.from_dict({"lr": lr, **settings})
    compare(config, reference(START, gradients, lr, 0.0, **more), gradients, TOLERANCES.get(config.name, 1e-10))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("adam", lambda g: 0.1 * np.sign(g)),
        ("adamw", lambda g: 0.1 * np.sign(g)),
        ("adamax", lambda g: 0.1 * np.sign(g)),
        ("adagrad", lambda g: 0.1 * np.sign(g)),
        ("adan", lambda g: 0.1 * np.sign(g)),
        ("lion", lambda g: 0.1 * np.sign(g)),
        ("schedule_free_adamw", lambda g: 0.1 * np.sign(g)),
        ("rmsprop", lambda g: 0.1 * np.sign(g) / math.sqrt(0.01)),
        ("adadelta", lambda g: 0.1 * math.sqrt(1e-6) * np.sign(g) / math.sqrt(0.1)),
        ("lamb", lambda g: 0.1 * np.linalg.norm(START) * np.sign(g) / math.sqrt(g.size)),
        ("sgd", lambda g: 0.1 * g),
        ("radam", lambda g: 0.1 * g),
        ("schedule_free_sgd", lambda g: 0.1 * g),
    ],
)
def test_first_step_in_closed_form(name: str, step: Callable[[Array], Array]) -> None:
    gradient = np.array([[0.5, -2.0], [3.0, -0.7], [1.0, 4.0]])
    module = Holder(START)
    config = Optimizer.from_dict({"name": name, "lr": 0.1, "weight_decay": 0.0})
    results = drive(module, module.weight, config, [gradient])
    np.testing.assert_allclose(START - results[0], step(gradient), rtol=1e-4)


def test_lamb_moves_zeros_by_the_plain_direction() -> None:
    module = Holder(np.zeros((3, 2)))
    gradients = GRADIENTS["changing"]
    results = drive(module, module.weight, Optimizer.from_dict({"name": "lamb", "lr": 0.1}), gradients)
    for ours, theirs in zip(results, lamb(np.zeros((3, 2)), gradients, 0.1, 0.0), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    np.testing.assert_allclose(results[0], -0.1 * np.sign(gradients[0]) * 0.1 / math.sqrt(0.001), rtol=1e-3)


def test_lamb_moves_biases_by_the_plain_direction() -> None:
    start, gradients = draw(3, 2), [draw(30 + step, 2) for step in range(STEPS)]
    module = Holder(start)
    results = drive(module, module.weight, Optimizer.from_dict({"name": "lamb", "lr": 0.1}), gradients)
    expected = start
    for ours, (_, _, m, v) in zip(results, moments(gradients, 0.9, 0.999), strict=True):
        expected = expected - 0.1 * m / (np.sqrt(v) + 1e-6)
        np.testing.assert_allclose(ours, expected, rtol=1e-10)


def test_a_rate_that_a_schedule_lowers_lowers_the_bounds_of_adabound() -> None:
    module = Holder(START)
    optimizer = Optimizer.from_dict({"name": "adabound", "lr": 1e-2, "final_lr": 1e-2}).build(module)
    optimizer.param_groups[0]["lr"] = 5e-3
    module.weight.grad = torch.tensor(GRADIENTS["constant"][0])
    optimizer.step()
    first = next(adabound(START, GRADIENTS["constant"], 5e-3, 0.0, final=5e-3))
    np.testing.assert_allclose(module.weight.detach().numpy(), first, rtol=1e-10)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_lookahead_goes_part_of_the_way_every_few_steps(momentum: float) -> None:
    gradients = GRADIENTS["changing"]
    fast, slow, velocity = START, START, np.zeros_like(START)
    expected = []
    for t, g in enumerate(gradients, 1):
        velocity = momentum * velocity + g
        fast = fast - 0.1 * velocity
        if t % 3 == 0:
            slow = slow + 0.25 * (fast - slow)
            fast = slow
        expected.append(fast)
    config = Lookahead(base=SGD(lr=0.1, momentum=momentum), every=3, alpha=0.25)
    compare(config, iter([*expected, slow]), gradients)


class TwoMatrices(nn.Module):
    def __init__(self, shape: tuple[int, int]) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.tensor(draw(0, *shape)))
        self.output = nn.Parameter(torch.tensor(draw(1, *shape)))


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)])
def test_muon_applies_a_polynomial_to_the_singular_values(shape: tuple[int, int], nesterov: bool) -> None:
    module = TwoMatrices(shape)
    gradients = [draw(20 + step, *shape) for step in range(4)]
    config = Muon(lr=0.1, weight_decay=0.2, momentum=0.5, nesterov=nesterov)
    w = module.hidden.detach().numpy().copy()
    results = drive(module, module.hidden, config, gradients)
    velocity = np.zeros(shape)
    for ours, g in zip(results, gradients, strict=True):
        velocity = 0.5 * velocity + 0.5 * g
        left, values, right = np.linalg.svd(0.5 * g + 0.5 * velocity if nesterov else velocity, full_matrices=False)
        values = values / np.linalg.norm(values)
        for _ in range(5):  # an odd polynomial of a matrix is that of its singular values
            values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
        step = 0.1 * 0.2 * math.sqrt(max(shape)) * left @ np.diag(values) @ right
        w = w * (1 - 0.1 * 0.2) - step
        np.testing.assert_allclose(ours, w, rtol=1e-8)


@pytest.mark.parametrize("shape", [(32, 32), (48, 16), (16, 48)])
def test_muon_brings_singular_values_near_one(shape: tuple[int, int]) -> None:
    values = torch.linalg.svdvals(orthogonalized(torch.tensor(draw(0, *shape)), 5))
    assert float(values.max()) < 1.3
    assert float(values.quantile(0.1)) > 0.6


def test_muon_does_what_that_of_torch_does() -> None:
    # Far from singular: what is nearly zero is made large, and with it the errors of torch's, which is in bfloat16.
    shape = (6, 4)
    gradients = [np.roll(np.eye(*shape), step, axis=0) + 0.1 * draw(20 + step, *shape) for step in range(3)]
    module = TwoMatrices(shape)
    other = torch.optim.Muon([nn.Parameter(module.hidden.detach().clone())], lr=0.1, adjust_lr_fn="match_rms_adamw")
    theirs = other.param_groups[0]["params"][0]
    before = theirs.detach().numpy().copy()
    for ours, gradient in zip(
        drive(module, module.hidden, Muon(lr=0.1, weight_decay=0.1), gradients), gradients, strict=True
    ):
        theirs.grad = torch.tensor(gradient)
        other.step()
        after = theirs.detach().numpy()
        assert np.linalg.norm(ours - after) < 0.1 * np.linalg.norm(before - after)


def test_muon_moves_the_output_as_adamw_does() -> None:
    module = TwoMatrices((3, 2))
    start = module.output.detach().numpy().copy()
    gradients = GRADIENTS["changing"]
    results = drive(module, module.output, Muon(lr=0.1, weight_decay=0.2), gradients)
    for ours, theirs in zip(results, adamw(start, gradients, 0.1, 0.2), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
