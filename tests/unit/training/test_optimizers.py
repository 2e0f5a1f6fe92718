"""Parameter groups, and the optimizers that are made of others."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from neuro_divergent.core.errors import ConfigError, MissingDependencyError
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.optimizers.adam import Adam, AdamW
from neuro_divergent.training.optimizers.groups import Group
from neuro_divergent.training.optimizers.joint import JointOptimizer
from neuro_divergent.training.optimizers.lookahead import Lookahead
from neuro_divergent.training.optimizers.muon import Muon
from neuro_divergent.training.optimizers.orthogonal import FullPrecisionMuon
from neuro_divergent.training.optimizers.prodigy import Prodigy
from neuro_divergent.training.optimizers.radam import RAdam
from neuro_divergent.training.optimizers.rmsprop import RMSprop
from neuro_divergent.training.optimizers.schedule_free import ScheduleFreeAdamW
from neuro_divergent.training.optimizers.sgd import SGD


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(5, 4)
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 6))
        self.filters = nn.Conv1d(1, 2, 3)
        self.head = nn.Linear(6, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(self.table(inputs))
        return self.head(hidden) + self.filters(hidden[:, None]).mean()


def settings(optimizer: torch.optim.Optimizer, module: nn.Module) -> dict[str, tuple[float, float]]:
    """Return the rate and the decay of each parameter by name."""
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    return {
        names[id(parameter)]: (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }


class TestGroups:
    def test_without_patterns_there_are_two_groups_and_without_decay_one(self) -> None:
        assert [len(group["params"]) for group in AdamW().build(Network()).param_groups] == [5, 6]
        assert [len(group["params"]) for group in AdamW(weight_decay=0.0).build(Network()).param_groups] == [11]

    def test_the_first_pattern_that_matches_counts(self) -> None:
        module = Network()
        config = AdamW(
            lr=1.0,
            weight_decay=0.5,
            groups=(
                Group("encoder.0.*", lr=0.25),
                Group("encoder.*", lr_factor=0.1, weight_decay=0.0),
                Group("*.weight", weight_decay=0.125),
            ),
        )
        assert settings(config.build(module), module) == {
            "table.weight": (1.0, 0.125),
            "encoder.0.weight": (0.25, 0.5),
            "encoder.0.bias": (0.25, 0.0),
            "encoder.1.weight": (0.1, 0.0),
            "encoder.1.bias": (0.1, 0.0),
            "encoder.2.weight": (0.1, 0.0),
            "encoder.2.bias": (0.1, 0.0),
            "filters.weight": (1.0, 0.125),
            "filters.bias": (1.0, 0.0),
            "head.weight": (1.0, 0.125),
            "head.bias": (1.0, 0.0),
        }

    def test_all_parameters_decay_when_configured(self) -> None:
        module = Network()
        config = AdamW(weight_decay=0.5, decay_all=True, groups=(Group("*.bias", weight_decay=0.25),))
        decays = {name: decay for name, (_, decay) in settings(config.build(module), module).items()}
        assert decays == {name: 0.25 if name.endswith("bias") else 0.5 for name in decays}

    def test_parameters_with_equal_settings_share_a_group(self) -> None:
        patterns = tuple(Group(f"{name}*", lr_factor=0.5) for name in ("table", "encoder", "filters"))
        groups = AdamW(lr=1.0, groups=patterns).build(Network()).param_groups
        assert [group["lr"] for group in groups] == [1.0, 1.0, 0.5, 0.5]

    def test_what_no_pattern_names_comes_first(self) -> None:
        groups = Adam(lr=1.0, groups=(Group("table.*", lr=0.5),)).build(Network()).param_groups
        assert [group["lr"] for group in groups] == [1.0, 0.5]

    def test_a_pattern_without_a_match_names_the_closest_parameters(self) -> None:
        with pytest.raises(
            ConfigError, match=r"adamw: groups: 'encodr\.0\.\*' matches no parameter\. .*encoder\.0\."
        ) as e:
            AdamW(groups=(Group("encodr.0.*", lr=0.5),)).build(Network())
        assert "head" not in str(e.value)

    def test_a_pattern_may_match_frozen_parameters_alone(self) -> None:
        module = Network()
        module.table.requires_grad_(False)
        config = AdamW(groups=(Group("table.*", lr=0.5),))
        assert "table.weight" not in settings(config.build(module), module)

    def test_decay_for_what_does_not_decay_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="Pass decay_all=True"):
            AdamW(groups=(Group("*.bias", weight_decay=0.1),)).build(Network())

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({}, "pattern"),
            ({"pattern": ""}, "pattern"),
            ({"pattern": "a", "lr": 1.0, "lr_factor": 1.0}, "either lr or lr_factor"),
            ({"pattern": "a", "lr": 0.0}, "greater than 0"),
            ({"pattern": "a", "rate": 1.0}, "unknown setting 'rate'"),
        ],
    )
    def test_wrong_settings_are_refused(self, values: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            Group(**values)
        with pytest.raises(ConfigError, match=message):
            AdamW(groups=[values])

    def test_a_document_can_hold_them(self) -> None:
        document = """
        [optimizer]
        name = "lookahead"
        every = 3
        [optimizer.base]
        name = "radam"
        [[optimizer.base.groups]]
        pattern = "encoder.*"
        lr = 1e-4
        [[optimizer.base.groups]]
        pattern = "*"
        weight_decay = 0.5
        """
        config = TrainingConfig.from_toml(document)
        groups = (Group("encoder.*", lr=1e-4), Group("*", weight_decay=0.5))
        assert config.optimizer == Lookahead(base=RAdam(groups=groups), every=3)
        assert TrainingConfig.from_toml(config.to_toml()) == config

    def test_names_given_are_trained_even_if_frozen_now(self) -> None:
        module = Network().requires_grad_(False)
        assert list(settings(AdamW().build(module, ["head.weight"]), module)) == ["head.weight"]


class TestMuon:
    def test_takes_hidden_matrices_and_leaves_the_rest_to_adamw(self) -> None:
        module = Network()
        joint = Muon().build(module)
        assert isinstance(joint, JointOptimizer)
        muon, adamw = joint.members
        assert set(settings(muon, module)) == {"encoder.0.weight", "encoder.2.weight"}
        assert set(settings(muon, module)) | set(settings(adamw, module)) == dict(module.named_parameters()).keys()
        assert [type(member) for member in joint.members] == [FullPrecisionMuon, torch.optim.AdamW]

    def test_more_matrices_can_be_left_to_adamw(self) -> None:
        module = Network()
        joint = Muon(exclude=("encoder.2.*",)).build(module)
        assert isinstance(joint, JointOptimizer)
        assert set(settings(joint.members[0], module)) == {"encoder.0.weight"}
        with pytest.raises(ConfigError, match=r"muon: exclude: 'encoder\.3"):
            Muon(exclude=("encoder.3*",)).build(module)

    def test_a_network_without_hidden_matrices_is_trained_by_adamw(self) -> None:
        one, other = nn.Linear(3, 1), nn.Linear(3, 1)
        other.load_state_dict(one.state_dict())
        for module, optimizer in ((one, Muon().build(one)), (other, AdamW().build(other))):
            for _ in range(3):
                module(torch.ones(2, 3)).square().sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        assert torch.equal(one.weight, other.weight)

    def test_parts_may_have_their_own_settings(self) -> None:
        module = Network()
        config = Muon(lr=1.0, weight_decay=0.5, groups=(Group("encoder.0.*", lr=0.5), Group("head.*", weight_decay=0)))
        found = settings(config.build(module), module)
        assert found["encoder.0.weight"] == (0.5, 0.5)
        assert found["encoder.0.bias"] == (0.5, 0.0)
        assert found["encoder.2.weight"] == (1.0, 0.5)
        assert found["head.weight"] == (1.0, 0.0)

    def test_an_older_torch_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(torch.optim, "Muon")
        with pytest.raises(MissingDependencyError, match=r'pip install "torch>=2.9"'):
            Muon().build(Network())


class TestJoint:
    def joint(self, module: nn.Module) -> JointOptimizer:
        first, second = list(module.parameters())[:4], list(module.parameters())[4:]
        return JointOptimizer([torch.optim.Adam(first, lr=0.1), torch.optim.SGD(second, lr=0.2, momentum=0.9)])

    def run(self, module: nn.Module, optimizers: list[torch.optim.Optimizer], steps: int = 3) -> None:
        for step in range(steps):
            module(torch.arange(5) * step % 5).square().sum().backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()

    def test_does_what_its_members_do(self) -> None:
        one, other = Network(), Network()
        self.run(one, [self.joint(one)])
        self.run(other, list(self.joint(other).members))
        for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(mine, theirs)

    def test_calls_the_closure_once_with_gradients_on(self) -> None:
        module = Network()
        joint = self.joint(module)
        calls = []

        def closure() -> torch.Tensor:
            calls.append(torch.is_grad_enabled())
            joint.zero_grad()
            loss = module(torch.arange(5)).square().sum()
            loss.backward()
            return loss

        before = copy.deepcopy(module.state_dict())
        with torch.no_grad():
            loss = joint.step(closure)
        assert calls == [True]
        assert float(loss.detach()) > 0
        assert not torch.equal(before["head.weight"], module.head.weight)

    def test_rates_of_members_can_be_set_before_and_after_loading(self) -> None:
        module = Network()
        joint = self.joint(module)
        self.run(module, [joint])
        for _ in range(2):
            for group in joint.param_groups:
                group["lr"] = 0.5
            assert [group["lr"] for member in joint.members for group in member.param_groups] == [0.5, 0.5]
            joint.load_state_dict(copy.deepcopy(joint.state_dict()))
            assert [group["lr"] for group in joint.param_groups] == [0.5, 0.5]
            joint.param_groups[1]["lr"] = 0.2

    def test_takes_no_gradient_away_from_others(self) -> None:
        module = Network()
        joint = self.joint(module)
        module(torch.arange(5)).sum().backward()
        joint.zero_grad()
        assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lookahead(base=ScheduleFreeAdamW()), "'schedule_free_adamw' averages weights itself"),
        (lambda: Lookahead(base=Lookahead()), "'lookahead' averages weights itself"),
        (lambda: Lookahead(every=0), "greater than or equal to 1"),
        (lambda: Prodigy(groups=(Group("a", lr=0.1),)), "rates of their own"),
        (lambda: SGD(momentum=0.0, nesterov=True), "nesterov needs a momentum"),
        (lambda: AdamW(betas=(0.9, 1.0)), "less than 1"),
        (lambda: AdamW(weight_decay=-1.0), "greater than or equal to 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_prodigy_allows_groups_with_a_decay_of_their_own() -> None:
    module = Network()
    config = Prodigy(weight_decay=0.5, groups=(Group("head.*", weight_decay=0.0),))
    assert settings(config.build(module), module)["head.weight"] == (1.0, 0.0)


@pytest.mark.parametrize(("width", "expected"), [(10, True), (800, False)])
def test_tensors_are_updated_at_once_in_small_networks_only(width: int, expected: bool) -> None:
    assert RMSprop().build(nn.Linear(width, width)).defaults["foreach"] is expected


def test_momentum_of_sgd_starts_as_in_torch() -> None:
    one, other = Network(), Network()
    optimizers = {one: SGD(lr=0.1, nesterov=True).build(one)}
    optimizers[other] = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9, nesterov=True, foreach=False)
    for module, optimizer in optimizers.items():
        for _ in range(4):
            module(torch.arange(5)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
