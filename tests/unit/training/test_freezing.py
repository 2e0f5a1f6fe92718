"""Freezing by pattern, and unfreezing at an epoch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.training.callbacks.unfreeze import Unfreezer
from neuro_divergent.training.freezing import Freeze, Frost


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 4))
        self.norm = nn.BatchNorm1d(4, affine=False)
        self.head = nn.Linear(4, 1)
        self.constant = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.norm(self.encoder(inputs))) * self.constant


def requiring(module: nn.Module) -> set[str]:
    return {name for name, parameter in module.named_parameters() if parameter.requires_grad}


HEAD = {"head.weight", "head.bias"}
ALL = {f"encoder.{place}.{kind}" for place in (0, 1, 3) for kind in ("weight", "bias")} | HEAD


class TestFrost:
    def test_stops_gradients_and_drops_those_there_are(self) -> None:
        module = Network()
        module(torch.randn(5, 3)).sum().backward()
        Frost(module, [Freeze("encoder.*")])
        assert requiring(module) == HEAD
        assert {name for name, parameter in module.named_parameters() if parameter.grad is not None} == HEAD

    def test_thaws_step_by_step_and_the_first_match_counts(self) -> None:
        module = Network()
        frost = Frost(module, [Freeze("encoder.3.*", until=2), Freeze("encoder.0.*"), Freeze("encoder.*", until=4)])
        assert set(frost.trainable) == ALL - {"encoder.0.weight", "encoder.0.bias"}
        assert frost.thaw(1) == []
        assert frost.thaw(2) == ["encoder.3.weight", "encoder.3.bias"]
        assert requiring(module) == HEAD | {"encoder.3.weight", "encoder.3.bias"}
        assert set(frost.thaw(5)) == {"encoder.1.weight", "encoder.1.bias", "encoder.1.running_mean"}
        assert frost.thaw(100) == []
        assert requiring(module) == ALL - {"encoder.0.weight", "encoder.0.bias"}

    def test_what_was_frozen_by_hand_stays_so(self) -> None:
        module = Network()
        frost = Frost(module, [Freeze("encoder.*"), Freeze("constant", until=1)])
        assert "constant" not in frost.trainable
        frost.thaw(1)
        frost.thaw_all()
        assert requiring(module) == ALL

    def test_frozen_statistics_stay_and_are_used(self) -> None:
        module = Network().train()
        frost = Frost(module, [Freeze("encoder.*")])
        module.train()
        before = copy.deepcopy(module.state_dict())
        inputs = torch.randn(50, 3) * 7
        whole, single = module.encoder(inputs), module.encoder(inputs[:1])
        module(inputs)
        torch.testing.assert_close(whole[:1], single)  # with the statistics of a batch they would differ
        assert torch.equal(module.encoder[1].running_mean, before["encoder.1.running_mean"])
        assert int(module.encoder[1].num_batches_tracked) == 0
        assert not torch.equal(module.norm.running_mean, before["norm.running_mean"])
        assert module.norm.training
        assert not module.encoder[1].training
        frost.thaw_all()
        assert module.encoder[1].training
        module(inputs)
        assert int(module.encoder[1].num_batches_tracked) == 1

    def test_statistics_are_frozen_by_their_own_names(self) -> None:
        module = Network()
        Frost(module, [Freeze("encoder.*.weight"), Freeze("norm.*")])
        module.train()
        assert module.encoder[1].training
        assert not module.norm.training

    def test_a_copy_of_a_frozen_network_does_not_change_the_original(self) -> None:
        module = Network()
        Frost(module, [Freeze("encoder.*")])
        copied = copy.deepcopy(module).train()
        assert not copied.encoder[1].training
        copied.encoder[1].training = True
        assert not module.encoder[1].training

    @pytest.mark.parametrize(
        ("freezes", "message"),
        [
            ([Freeze("encodr.*")], r"freeze: 'encodr\.\*' matches no parameter\. Closest: encoder"),
            ([Freeze("*")], "nothing is left to train in the first epoch"),
            ([Freeze("*", until=3)], "nothing is left to train in the first epoch"),
        ],
    )
    def test_mistakes_are_named_and_change_nothing(self, freezes: list[Freeze], message: str) -> None:
        module = Network()
        with pytest.raises(nd.errors.ConfigError, match=message):
            Frost(module, freezes)
        assert requiring(module) == ALL


@pytest.mark.parametrize("values", [{}, {"pattern": ""}, {"pattern": "a", "until": 0}, {"pattern": "a", "til": 1}])
def test_wrong_settings_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(nd.errors.ConfigError, match=r"pattern|until"):
        Freeze(**values)


@pytest.mark.parametrize("freeze", [Freeze("a.*"), Freeze("*", until=3)])
def test_settings_round_trip(freeze: Freeze) -> None:
    assert Freeze.from_toml(freeze.to_toml()) == freeze


class Watch(nd.callbacks.Callback):
    """Notes at each step which parameters change and which require a gradient."""

    def __init__(self) -> None:
        self.moved: list[set[str]] = []
        self.required: list[set[str]] = []
        self._before: dict[str, Tensor] = {}

    def gradients_ready(self, trainer: nd.Trainer) -> None:
        self._before = {name: item.detach().clone() for name, item in trainer.module.named_parameters()}

    def step_end(self, trainer: nd.Trainer) -> None:
        named = trainer.module.named_parameters()
        self.moved.append({name for name, item in named if not torch.equal(item, self._before[name])})
        self.required.append(requiring(trainer.module))


def fit(module: nn.Module, *callbacks: nd.callbacks.Callback, **changes: Any) -> nd.Trainer:
    inputs = torch.randn(32, 3, generator=torch.Generator().manual_seed(1))
    target = inputs.square().sum(1, keepdim=True)
    settings = {"max_epochs": 4, "max_steps": None, "batch_size": 16, "threads": 1, "validate_every": 3, **changes}
    trainer = nd.Trainer(module, nd.losses.MSE(), nd.TrainingConfig(**settings), callbacks=callbacks)
    trainer.fit((inputs, target), (inputs, target))
    return trainer


FREEZES = (Freeze("encoder.3.*", until=1), Freeze("encoder.0.*"), Freeze("encoder.*", until=3))


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "muon", "lookahead", "schedule_free_adamw"])
def test_training_changes_only_what_is_not_frozen(optimizer: str) -> None:
    module, watch = Network(), Watch()
    first = module.encoder[0].weight.detach().clone()
    fit(module, Unfreezer(FREEZES), watch, optimizer=optimizer, early_stopping=None)
    third = {"encoder.3.weight", "encoder.3.bias"}
    second = {"encoder.1.weight", "encoder.1.bias"}
    expected = [HEAD] * 2 + [HEAD | third] * 4 + [HEAD | third | second] * 2
    assert watch.required == expected
    assert all(moved <= allowed for moved, allowed in zip(watch.moved, expected, strict=True))
    assert all("head.weight" in moved for moved in watch.moved)
    assert {"encoder.1.weight", "encoder.3.weight"} <= watch.moved[-1]
    assert torch.equal(module.encoder[0].weight, first)
    assert requiring(module) == ALL


def test_frozen_statistics_move_from_the_epoch_of_unfreezing() -> None:
    module = Network()
    fit(module, Unfreezer(FREEZES), early_stopping=None)
    assert int(module.encoder[1].num_batches_tracked) == 2
    assert int(module.norm.num_batches_tracked) == 8


def test_a_restart_in_the_middle_freezes_what_is_still_frozen() -> None:
    module, watch = Network(), Watch()

    class Jump(nd.callbacks.Callback):
        """Begins at the second batch of epoch 2, as a resumed run does."""

        def fit_start(self, trainer: nd.Trainer) -> None:
            trainer.state.step, trainer.state.epoch, trainer.state.batch = 5, 2, 1

    fit(module, Jump(), Unfreezer(FREEZES), watch)
    third = {"encoder.3.weight", "encoder.3.bias"}
    assert watch.required == [HEAD | third] + [HEAD | third | {"encoder.1.weight", "encoder.1.bias"}] * 2


def test_nothing_stays_frozen_after_a_failure() -> None:
    class Break(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            raise RuntimeError("broken")

    module = Network()
    with pytest.raises(RuntimeError, match="broken"):
        fit(module, Unfreezer(FREEZES), Break())
    assert requiring(module) == ALL
    assert module.train().encoder[1].training


def test_freezing_before_training_tells_the_optimizer_what_to_train() -> None:
    module = Network()
    unfreezer = Unfreezer(FREEZES)
    names = unfreezer.freeze(module)
    optimizer = nd.AdamW().build(module, names)
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    expected = ALL - {"encoder.0.weight", "encoder.0.bias"}
    assert held == {id(item) for name, item in module.named_parameters() if name in expected}
    fit(module, unfreezer)
    assert requiring(module) == ALL
