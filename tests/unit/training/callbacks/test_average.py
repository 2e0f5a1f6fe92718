"""Averages of weights against plain loops."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.training.average import EMA, SWA, Average, Averager
from neuro_divergent.training.schedules.base import Plan
from tests.unit.training.callbacks.example import line, network, trainer


class Weights(nd.callbacks.Callback):
    """Keeps the weights before the first step and after each."""

    def __init__(self) -> None:
        self.seen: list[list[float]] = []

    def fit_start(self, trainer: nd.Trainer) -> None:
        self.step_end(trainer)

    def step_end(self, trainer: nd.Trainer) -> None:
        self.seen.append(trainer.module.weight.detach().flatten().tolist())


def mean(rows: list[list[float]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(("decay", "warmup"), [(0.999, True), (0.9, True), (0.5, True), (0.9, False), (0.0, False)])
def test_an_exponential_average_is_the_one_of_a_loop(decay: float, warmup: bool) -> None:
    weights, module = Weights(), network()
    trainer(weights, EMA(decay=decay, warmup=warmup).build(), module=module).fit(line())
    expected = weights.seen[0]
    for update, current in enumerate(weights.seen[1:]):
        keep = min(decay, (1 + update) / (10 + update)) if warmup else decay
        expected = [keep * old + (1 - keep) * new for old, new in zip(expected, current, strict=True)]
    assert module.weight.detach().flatten().tolist() == pytest.approx(expected, rel=1e-5)
    assert (module.weight.detach().flatten().tolist() != pytest.approx(weights.seen[-1], rel=1e-5)) == (decay > 0)


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"start": 0.5, "every": 1}, range(16, 31)),
        ({"start": 0.5, "every": "epoch"}, [16, 20, 24, 28, 30]),  # four steps an epoch, and the last one
        ({"start": 0.0, "every": 7}, [7, 14, 21, 28, 30]),
        ({"start": 0.75}, range(23, 31)),  # a tenth of 7.5 steps is one
        ({"start": 0.99}, [30]),
    ],
)
def test_a_stochastic_average_is_the_mean_of_late_weights(settings: dict[str, Any], steps: Any) -> None:
    weights, module = Weights(), network()
    trainer(weights, SWA(**settings).build(), module=module).fit(line())
    expected = mean([weights.seen[step] for step in steps])
    assert module.weight.detach().flatten().tolist() == pytest.approx(expected, rel=1e-5)


def test_long_epochs_are_averaged_more_often_than_once() -> None:
    plan = Plan(total_steps=1000, steps_per_epoch=5000)
    assert [step for step in range(1, 1001) if SWA().takes(step, plan)] == list(range(775, 1001, 25))
    assert [step for step in range(1, 1001) if SWA(every="epoch").takes(step, plan)] == [1000]


def test_training_itself_is_the_same_with_an_average() -> None:
    plain, averaged = Weights(), Weights()
    trainer(plain, validate_every=3, early_stopping=None).fit(line(), line())
    trainer(averaged, EMA().build(), validate_every=3, early_stopping=None).fit(line(), line())
    assert plain.seen == averaged.seen


def test_validation_sees_the_average_and_training_gets_its_weights_back() -> None:
    class SeriesLayout(nd.callbacks.Callback):
        def __init__(self) -> None:
            self.during: list[torch.Tensor] = []

        def validation_start(self, trainer: nd.Trainer) -> None:
            self.during.append(trainer.module.weight.detach().clone())

    averager, look = EMA().build(), SeriesLayout()
    training = trainer(averager, look, validate_every=10, early_stopping=None)
    history = training.fit(line(), line()).frame()
    inputs, targets = line()
    # The last validation is of the average that training ends with.
    loss = float((training.module(inputs) - targets).square().mean().detach())
    assert history["validation_loss"][-1] == pytest.approx(loss, rel=1e-5)
    assert torch.equal(look.during[-1], training.module.weight)


def test_weights_come_back_after_a_validation_and_after_one_that_failed() -> None:
    module = network()
    training: Any = SimpleNamespace(module=module, plan=Plan(10, 10), state=SimpleNamespace(step=1))
    averager = EMA(decay=0.5, warmup=False).build()
    averager.fit_start(training)
    before = module.weight.detach().clone()
    with torch.no_grad():
        module.weight += 1
    averager.step_end(training)
    for end in (averager.validation_end, lambda training: averager.failed(training, ValueError())):
        with torch.inference_mode():
            averager.validation_start(training)
            assert torch.allclose(module.weight, before + 0.5)
        end(training)
        assert torch.allclose(module.weight, before + 1)
        assert not module.weight.is_inference()
    averager.failed(training, ValueError())
    assert torch.allclose(module.weight, before + 1)


def test_early_stopping_brings_back_the_best_average() -> None:
    """In the order in which training puts them: the average first, then early stopping."""
    averager, stopper = EMA(decay=0.5, warmup=False).build(), nd.EarlyStopping().build()
    module = nn.Linear(1, 1, bias=False)
    training: Any = SimpleNamespace(
        module=module, plan=Plan(3, 3), state=SimpleNamespace(step=0, metrics={}), stop=lambda reason: None
    )
    nn.init.zeros_(module.weight)
    averager.fit_start(training)
    for value, loss in [(1.0, 3.0), (2.0, 1.0), (8.0, 2.0)]:
        nn.init.constant_(module.weight, value)
        training.state.step += 1
        averager.step_end(training)
        averager.validation_start(training)
        training.state.metrics["validation_loss"] = loss
        stopper.validation_end(training)
        averager.validation_end(training)
        assert module.weight.item() == value
    averager.fit_end(training)
    assert module.weight.item() == ((0 * 0.5 + 1 * 0.5) * 0.5 + 2 * 0.5) * 0.5 + 8 * 0.5
    stopper.fit_end(training)
    assert module.weight.item() == (0 * 0.5 + 1 * 0.5) * 0.5 + 2 * 0.5


@pytest.mark.parametrize("average", [EMA(decay=0.9), SWA(start=0.0, every=1)])
def test_statistics_are_averaged_and_counts_are_copied(average: Average) -> None:
    class Statistics(nd.callbacks.Callback):
        def __init__(self) -> None:
            self.means: list[float] = []

        def fit_start(self, trainer: nd.Trainer) -> None:
            self.step_end(trainer)

        def step_end(self, trainer: nd.Trainer) -> None:
            self.means.append(float(trainer.module[1].running_mean[0]))

    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    statistics = Statistics()
    trainer(statistics, average.build(), module=module).fit(line())
    expected = statistics.means[0]
    for update, current in enumerate(statistics.means[1:]):
        keep = min(0.9, (1 + update) / (10 + update)) if isinstance(average, EMA) else update / (update + 1)
        expected = keep * expected + (1 - keep) * current
    assert float(module[1].running_mean[0]) == pytest.approx(expected, rel=1e-4)
    assert int(module[1].num_batches_tracked) == 30


@pytest.mark.precision("bf16")
def test_a_half_precision_average_does_not_stand_still() -> None:
    """In bfloat16 an average of 1 that moves by a thousandth of the way to 2 would stay where it is."""
    module = nn.Linear(1, 1, bias=False, dtype=torch.bfloat16)
    nn.init.ones_(module.weight)
    training: Any = SimpleNamespace(module=module, plan=Plan(1000, 1000), state=SimpleNamespace(step=1))
    averager = EMA(decay=0.999, warmup=False).build()
    averager.fit_start(training)
    nn.init.constant_(module.weight, 2.0)
    for _ in range(1000):
        averager.step_end(training)
    averager.fit_end(training)
    assert module.weight.dtype == torch.bfloat16
    assert module.weight.item() == pytest.approx(2 - math.exp(-1), rel=0.01)


@pytest.mark.parametrize("average", [EMA(decay=0.7), SWA(start=0.3, every=2)])
@pytest.mark.parametrize("cut", [1, 4, 9])
def test_a_state_that_is_taken_up_again_gives_the_same_average(average: Average, cut: int) -> None:
    module = nn.Linear(2, 2)
    training: Any = SimpleNamespace(module=module, plan=Plan(10, 5), state=SimpleNamespace(step=0))

    def step(averager: Averager, number: int) -> None:
        torch.manual_seed(number)
        nn.init.normal_(module.weight)
        training.state.step = number
        averager.step_end(training)

    nn.init.zeros_(module.weight)
    whole, first, second = average.build(), average.build(), average.build()
    whole.fit_start(training)
    first.fit_start(training)
    for number in range(1, 11):
        step(whole, number)
    for number in range(1, cut + 1):
        step(first, number)
    second.load_state_dict(first.state_dict())
    second.fit_start(training)
    for number in range(cut + 1, 11):
        step(second, number)
    assert whole.average is not None
    assert second.average is not None
    assert all(torch.equal(tensor, second.average[name]) for name, tensor in whole.average.items())


@pytest.mark.parametrize("wrong", [{"decay": 1.0}, {"decay": -0.1}])
def test_impossible_decays_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(nd.errors.ConfigError, match="ema: decay"):
        EMA(**wrong)


def test_the_family_is_found_by_name() -> None:
    assert Average.from_dict("ema") == EMA()
    assert Average.from_dict({"name": "swa", "every": "epoch"}) == SWA(every="epoch")
