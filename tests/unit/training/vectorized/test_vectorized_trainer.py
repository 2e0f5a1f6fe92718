"""Vectorized training gives each network what it would have become by itself."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, DivergedError, Interrupted
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.checkpointing.snapshot import snapshot
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.vectorized.support import why_not
from neuro_divergent.training.vectorized.trainer import VectorizedTrainer
from tests.unit.training.vectorized.together import (
    casting_once,
    distance,
    members_of,
    train_alone,
    train_together,
    trainings,
    waves,
)

SMALL = nd.MLP(hidden_size=8, num_layers=1)
ELEMENTWISE = [name for name in Optimizer.registry.names() if Optimizer.registry.get(name).elementwise]


@pytest.fixture(autouse=True)
def _in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Precision, "casting", casting_once)


def both_ways(settings: list[dict[str, Any]], model: Any = SMALL, **others: Any) -> list[tuple[NetworkTraining, ...]]:
    """Train the same networks one after the other and together, and return the pairs."""
    alone, together = (trainings(model, settings, **others) for _ in range(2))
    train_alone(alone)
    assert all(member.error is None for member in train_together(together))
    return list(zip(alone, together, strict=True))


def assert_same(alone: NetworkTraining, together: NetworkTraining) -> None:
    """Weights, steps, reasons to stop and all rows of the history agree up to rounding."""
    assert distance(alone, together) < 1e-12
    mine, theirs = alone.trainer, together.trainer
    assert mine.state.to_dict() | {"metrics": None} == theirs.state.to_dict() | {"metrics": None}
    timed = {"seconds", "samples_per_second", "waiting_share"}
    assert len(mine.history.rows) == len(theirs.history.rows) > 0
    for row, other in zip(mine.history.rows, theirs.history.rows, strict=True):
        kept = {name: value for name, value in row.items() if name not in timed}
        assert {name: value for name, value in other.items() if name not in timed} == pytest.approx(kept, rel=1e-10)


def test_elementwise_optimizers_are_torchs_own_but_those_that_mix_weights() -> None:
    assert set(ELEMENTWISE) == {
        "adadelta",
        "adagrad",
        "adam",
        "adamax",
        "adamw",
        "nadam",
        "radam",
        "rmsprop",
        "sgd",
    }


@pytest.mark.parametrize(
    ("name", "rates"), [*((name, (0.3, 1.0, 2.5)) for name in ELEMENTWISE), ("adamw", (1.0, 1.0)), ("sgd", (1.0, 1.0))]
)
def test_networks_trained_together_get_the_weights_they_get_alone_with_each_optimizer(
    name: str, rates: tuple[float, ...]
) -> None:
    kind = Optimizer.registry.get(name)
    usual = kind.model_fields["lr"].default
    optimizers = [kind(lr=usual * rate, weight_decay=0.05) for rate in rates]
    settings = [{"optimizer": optimizer, "seed": seed} for seed, optimizer in enumerate(optimizers)]
    for pair in both_ways(settings):
        assert_same(*pair)


@pytest.mark.parametrize(
    "optimizer",
    [
        nd.AdamW(lr=1e-2, decay_all=True),
        nd.optimizers.Adam(lr=1e-2, amsgrad=True),
        nd.optimizers.SGD(lr=1e-2, nesterov=True),
        nd.optimizers.RMSprop(lr=1e-3, momentum=0.5),
        nd.AdamW(lr=1e-2, groups=[nd.optimizers.Group("*.bias", lr_factor=3.0)]),
    ],
    ids=["decay of all", "amsgrad", "nesterov", "momentum", "groups"],
)
def test_settings_of_an_optimizer_hold_for_each_network(optimizer: Any) -> None:
    for pair in both_ways(
        [{"optimizer": optimizer.replace(lr=optimizer.lr * (1 + seed)), "seed": seed} for seed in range(2)]
    ):
        assert_same(*pair)


@pytest.mark.parametrize(
    "clip", [nd.ClipNorm(1e-3), {"name": "value", "limit": 1e-3}, None], ids=["norm", "value", "none"]
)
def test_gradients_are_clipped_for_each_network_by_itself(clip: Any) -> None:
    settings = [{"clip": clip, "seed": seed, "optimizer": nd.optimizers.SGD(lr=0.01)} for seed in range(3)]
    for pair in both_ways(settings):
        assert_same(*pair)


@pytest.mark.parametrize(
    "own",
    [
        {"average": "ema"},
        {"average": {"name": "swa", "start": 0.5}},
        {"schedule": "one_cycle"},
        {"schedule": {"name": "plateau", "patience": 0, "gamma": 0.1}, "optimizer": nd.AdamW(lr=0.05)},
        {"shuffle": False},
        {"drop_last": True, "max_epochs": 4, "max_steps": None},
        {"metrics": ("mse",), "log_every": 7},
    ],
    ids=lambda own: ",".join(own),
)
def test_averages_schedules_orders_and_metrics_are_those_of_each_network(own: dict[str, Any]) -> None:
    for pair in both_ways([{**own, "seed": seed} for seed in range(3)]):
        assert_same(*pair)


def test_networks_that_stop_at_different_steps_keep_their_best_weights_and_leave_the_others_alone() -> None:
    stopping = nd.EarlyStopping(patience=1)
    rates = (0.3, 1e-3, 0.1, 0.03)
    settings = [
        {"seed": seed, "early_stopping": stopping, "validate_every": 3, "optimizer": nd.AdamW(lr=rate)}
        for seed, rate in enumerate(rates)
    ]
    pairs = both_ways(settings)
    for pair in pairs:
        assert_same(*pair)
    assert len({alone.trainer.state.step for alone, _ in pairs}) > 2
    assert any(alone.trainer.state.selected_step != alone.trainer.state.step for alone, _ in pairs)


def test_networks_with_plans_of_different_length_are_trained_together_and_the_longest_alone_at_last() -> None:
    for pair in both_ways([{"seed": seed, "max_steps": steps} for seed, steps in enumerate((7, 30, 12, 7))]):
        assert_same(*pair)


def test_networks_on_data_of_different_size_have_epochs_of_their_own() -> None:
    def made() -> list[NetworkTraining]:
        tables = [waves(2, 45), waves(3, 60, missing=True), waves(3, 50)]
        return [trainings(SMALL, [{"seed": seed}], data=table)[0] for seed, table in enumerate(tables)]

    alone, together = made(), made()
    train_alone(alone)
    train_together(together)
    for pair in zip(alone, together, strict=True):
        assert_same(*pair)
    assert len({len(item.train) for item in alone}) > 1


def test_networks_that_diverge_end_with_the_error_they_have_alone_and_leave_the_others_as_they_are() -> None:
    rates = (1e-2, 1e200, 1e200, 1e-3)
    settings = [
        {"seed": seed, "optimizer": nd.optimizers.SGD(lr=rate), "clip": None} for seed, rate in enumerate(rates)
    ]
    alone, together = (trainings(SMALL, settings) for _ in range(2))
    members = train_together(together)
    for place in (1, 2):
        with pytest.raises(DivergedError) as expected:
            train_alone([alone[place]])
        assert isinstance(members[place].error, DivergedError)
        assert str(members[place].error) == str(expected.value)
    for place in (0, 3):
        train_alone([alone[place]])
        assert members[place].error is None
        assert_same(alone[place], together[place])


def test_the_order_of_networks_does_not_matter() -> None:
    settings = [{"seed": seed, "optimizer": nd.AdamW(lr=0.01 * (1 + seed))} for seed in range(3)]
    one, other = trainings(SMALL, settings), trainings(SMALL, settings[::-1])
    train_together(one)
    train_together(other)
    assert max(distance(mine, theirs) for mine, theirs in zip(one, other[::-1], strict=True)) < 1e-12


def test_networks_own_their_weights_after_training() -> None:
    made = trainings(SMALL, [{"seed": seed, "max_steps": 3} for seed in range(2)])
    train_together(made)
    before = [parameter.detach().clone() for parameter in made[1].network.parameters()]
    with torch.no_grad():
        for parameter in made[0].network.parameters():
            assert parameter.untyped_storage().size() == parameter.numel() * parameter.element_size()
            parameter.fill_(math.nan)
    assert all(torch.equal(mine, own) for mine, own in zip(before, made[1].network.parameters(), strict=True))


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"optimizer": "muon"}, "optimizer 'muon'"),
        ({"l2": 0.1}, "more than clipping"),
        ({"gradient_noise": {}}, "more than clipping"),
        ({"accumulate": 2}, "accumulate is set"),
        ({"max_seconds": 10.0}, "max_seconds is set"),
        ({"augment": "jitter"}, "augment is set"),
        ({"divergence": "skip"}, "divergence 'skip'"),
        ({"freeze": {"pattern": "*.bias"}}, "freeze is set"),
        ({"gradient": "central"}, "'central'"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_a_setting_that_a_vectorized_step_does_not_have_is_refused_by_name(own: dict[str, Any], reason: str) -> None:
    made = trainings(SMALL, [{**own, "seed": seed} for seed in range(2)])
    with pytest.raises(ConfigError, match=reason):
        train_together(made)


def test_networks_that_differ_in_shape_or_in_settings_of_a_step_are_refused() -> None:
    small, large = (trainings(nd.MLP(hidden_size=size), [{}])[0] for size in (8, 16))
    assert "shape" in str(why_not(members_of([small, large])))
    decays = [{"optimizer": nd.AdamW(weight_decay=decay)} for decay in (0.0, 0.1)]
    assert "settings" in str(why_not(members_of(trainings(SMALL, decays))))


class InterruptAt(Callback):
    """Interrupts a training after a step, and keeps the last state of it."""

    in_vectorized: ClassVar[bool] = True

    def __init__(self, step: int | None) -> None:
        self._step = step
        self.state: dict[str, Any] = {}

    def step_end(self, trainer: Trainer) -> None:
        if trainer.state.step == self._step:
            trainer.interrupt("test")

    def interrupted(self, trainer: Trainer) -> None:
        self.state = snapshot(trainer.state_dict())

    finishing = interrupted


@pytest.mark.parametrize("step", [20, 23])  # 20 has a validation
@pytest.mark.parametrize("optimizer", ELEMENTWISE)
def test_trainings_that_are_interrupted_and_resumed_together_get_the_same_bits(optimizer: str, step: int) -> None:
    config = Optimizer.from_dict({"name": optimizer, "lr": 0.01, "weight_decay": 0.01})
    faster = Optimizer.from_dict({"name": optimizer, "lr": 0.02, "weight_decay": 0.01})
    settings: list[dict[str, Any]] = [
        {"optimizer": config, "max_steps": 15},
        {"optimizer": faster, "seed": 2},
        {"optimizer": config, "seed": 3, "average": nd.callbacks.EMA()},
    ]
    whole, begun, resumed = (trainings(SMALL, settings) for _ in range(3))
    train_together(whole)
    keepers = [InterruptAt(None), InterruptAt(None), InterruptAt(step)]
    for item, keeper in zip(begun, keepers, strict=True):
        item.trainer.callbacks = [keeper]
    with pytest.raises(Interrupted):
        train_together(begun)
    assert [keeper.state["state"]["step"] for keeper in keepers] == [15, step, step]
    members = members_of(resumed)
    for member, keeper in zip(members, keepers, strict=True):
        member.resume = keeper.state
    VectorizedTrainer(members).fit()
    for one, other in zip(whole, resumed, strict=True):
        assert distance(one, other) == 0.0
        rows = [[row["train_loss"] for row in item.trainer.history.rows] for item in (one, other)]
        assert rows[0] == rows[1]


def test_training_that_was_interrupted_with_others_is_resumed_by_itself_up_to_rounding() -> None:
    settings = [{"seed": 1}, {"seed": 2}]
    whole, begun, resumed = (trainings(SMALL, settings) for _ in range(3))
    train_alone(whole)
    keepers = [InterruptAt(20), InterruptAt(None)]
    for item, keeper in zip(begun, keepers, strict=True):
        item.trainer.callbacks = [keeper]
    with pytest.raises(Interrupted):
        train_together(begun)
    for item, keeper in zip(resumed, keepers, strict=True):
        item.trainer.fit(item.train, item.validation, resume=keeper.state)
    for pair in zip(whole, resumed, strict=True):
        assert_same(*pair)
