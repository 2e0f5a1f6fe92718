"""What every optimizer must do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError, MissingDependencyError
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint, write_checkpoint
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Plan
from neuro_divergent.training.schedules.constant import Constant
from neuro_divergent.training.schedules.plateau import Plateau

NAMES = Optimizer.registry.names()
FROM_LIBRARY = {
    "adabound",
    "adan",
    "lamb",
    "lion",
    "lookahead",
    "prodigy",
    "schedule_free_adamw",
    "schedule_free_sgd",
}
# Where 0.01 is not the rate to lower a small loss with in 100 steps; None is the default.
RATES = {"adadelta": 5.0, "adagrad": 0.1, "lamb": 0.03, "prodigy": None}
DECAYING = [name for name in NAMES if "weight_decay" in Optimizer.registry.get(name).model_fields]

AVERAGING = [name for name in NAMES if Optimizer.registry.get(name).averages]


def make(name: str, **settings: Any) -> Optimizer:
    return Optimizer.from_dict({"name": name, **settings})


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 4), nn.Linear(4, 1))


def batch(seed: int) -> Tensor:
    return torch.randn(16, 3, generator=torch.Generator().manual_seed(seed))


def run(module: nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        inputs = batch(step)
        (module(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def state_of(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def assert_same(one: nn.Module, other: nn.Module) -> None:
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


@pytest.mark.parametrize("name", NAMES)
def test_lowers_a_loss(name: str) -> None:
    module = network()
    rate = RATES.get(name, 0.01)
    optimizer = (make(name) if rate is None else make(name, lr=rate)).build(module)
    inputs = batch(1)
    target = inputs.sum(1, keepdim=True)
    losses = []
    for _ in range(100):
        loss = (module(inputs) - target).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("name", NAMES)
def test_trains_every_parameter_once(name: str) -> None:
    module = network()
    optimizer = make(name).build(module)
    held = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in module.parameters())
    before = state_of(module)
    run(module, optimizer, range(5))
    assert all(not torch.equal(before[key], tensor) for key, tensor in module.state_dict().items())


@pytest.mark.parametrize("name", DECAYING)
@pytest.mark.parametrize("everything", [False, True])
def test_biases_and_norms_decay_only_when_configured(name: str, everything: bool) -> None:
    module = network()
    optimizer = make(name, weight_decay=0.5, decay_all=everything).build(module)
    decayed = {id(p) for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]}
    assert decayed == {id(p) for p in module.parameters() if everything or p.ndim >= 2}


@pytest.mark.parametrize("name", DECAYING)
def test_decay_makes_weights_smaller(name: str) -> None:
    norms = []
    for decay in (0.0, 1.0):
        module = network()
        run(module, make(name, weight_decay=decay).build(module), range(10))
        norms.append(float(module[0].weight.detach().norm()))
    assert norms[1] < norms[0]


@pytest.mark.parametrize("name", NAMES)
def test_leaves_frozen_parameters_alone(name: str) -> None:
    module = network()
    module[0].requires_grad_(False)
    before = state_of(module[0])
    optimizer = make(name).build(module)
    run(module, optimizer, range(2))
    assert all(torch.equal(before[key], tensor) for key, tensor in module[0].state_dict().items())
    assert not {id(p) for group in optimizer.param_groups for p in group["params"]} & {
        id(p) for p in module[0].parameters()
    }


@pytest.mark.parametrize("name", NAMES)
def test_trains_parameters_that_are_unfrozen_later(name: str) -> None:
    module = network()
    everything = [key for key, _ in module.named_parameters()]
    module[0].requires_grad_(False)
    before = state_of(module[0])
    optimizer = make(name).build(module, everything)
    run(module, optimizer, range(6))  # past a slow step of lookahead
    assert all(torch.equal(before[key], tensor) for key, tensor in module[0].state_dict().items())
    module[0].requires_grad_(True)
    run(module, optimizer, range(6, 9))
    assert all(not torch.equal(before[key], tensor) for key, tensor in module[0].state_dict().items())
    assert all(bool(tensor.isfinite().all()) for tensor in module.state_dict().values())


@pytest.mark.parametrize("name", NAMES)
def test_refuses_a_network_without_anything_to_train(name: str) -> None:
    with pytest.raises(ConfigError, match="no parameter to train"):
        make(name).build(network().requires_grad_(False))


@pytest.mark.parametrize(
    ("name", "evaluating"), [*((name, False) for name in NAMES), *((name, True) for name in AVERAGING)]
)
def test_resumes_from_disk_with_the_same_bits(name: str, evaluating: bool, tmp_path: Path) -> None:
    config = make(name)
    whole = network()
    optimizer = config.build(whole)
    Constant().start(optimizer, Plan(9, 9))  # a schedule leaves its mark on the groups
    run(whole, optimizer, range(3))
    if evaluating:
        optimizer.eval()
    write_checkpoint(tmp_path / "state", {"module": whole.state_dict(), "optimizer": optimizer.state_dict()})
    if evaluating:
        optimizer.train()
    run(whole, optimizer, range(3, 9))

    state = read_checkpoint(tmp_path / "state")
    again = network()
    again.load_state_dict(state["module"])
    resumed = config.build(again)
    resumed.load_state_dict(state["optimizer"])
    if evaluating:
        resumed.train()
    run(again, resumed, range(3, 9))
    assert_same(whole, again)
    if config.averages:
        optimizer.eval()
        resumed.eval()
        assert_same(whole, again)


@pytest.mark.parametrize("name", AVERAGING)
def test_changes_between_the_weights_to_train_and_to_use(name: str) -> None:
    module = network()
    optimizer: Any = make(name).build(module)
    optimizer.train()  # nothing to do yet
    run(module, optimizer, range(7))
    trained = state_of(module)
    optimizer.eval()
    used = state_of(module)
    assert any(not torch.equal(trained[key], used[key]) for key in trained)
    optimizer.eval()
    assert all(torch.equal(used[key], tensor) for key, tensor in module.state_dict().items())
    optimizer.train()
    optimizer.train()
    assert all(torch.equal(trained[key], tensor) for key, tensor in module.state_dict().items())


@pytest.mark.parametrize("name", AVERAGING)
def test_using_weights_does_not_change_how_training_goes_on(name: str) -> None:
    one, other = network(), network()
    for module, pauses in ((one, False), (other, True)):
        optimizer: Any = make(name).build(module)
        for step in range(8):
            run(module, optimizer, range(step, step + 1))
            if pauses:
                with torch.inference_mode():  # as in a validation
                    optimizer.eval()
                    optimizer.train()
    assert_same(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_only_averaging_optimizers_have_modes(name: str) -> None:
    config = make(name)
    optimizer = config.build(network())
    assert hasattr(optimizer, "eval") == hasattr(optimizer, "train") == config.averages


@pytest.mark.parametrize("name", NAMES)
def test_schedules_drive_every_group(name: str) -> None:
    settings: dict[str, Any] = {} if name in {"lookahead", "prodigy"} else {"groups": [{"pattern": "0.*", "lr": 0.5}]}
    config = make(name, **settings)
    optimizer = config.build(network())
    full = [group["lr"] for group in optimizer.param_groups]
    assert full[0] == config.rate
    scheduler = Plateau(gamma=0.25, patience=0).start(optimizer, Plan(9, 9))
    for loss in (1.0, 2.0):
        scheduler.validated(loss)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([rate * 0.25 for rate in full])
    assert len(full) <= 5


@pytest.mark.parametrize("name", NAMES)
def test_rate_can_be_replaced(name: str) -> None:
    config = make(name).replace(lr=0.125)
    assert config.rate == 0.125
    assert config.build(network()).param_groups[0]["lr"] == 0.125


@pytest.mark.parametrize("name", sorted(FROM_LIBRARY))
def test_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytorch_optimizer", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[optimizers\]"') as raised:
        make(name).build(network())
    assert repr(name) in str(raised.value)


@pytest.mark.parametrize("name", sorted(set(NAMES) - FROM_LIBRARY))
def test_the_others_need_no_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytorch_optimizer", None)
    make(name).build(network())


def test_settings_need_no_torch() -> None:
    code = (
        "import sys; from neuro_divergent.training.optimizers.base import Optimizer; "
        "from neuro_divergent.training.freezing import Freeze; "
        "[Optimizer.from_dict(name) for name in Optimizer.registry.names()]; Freeze('a.*'); "
        "assert not {'torch', 'numpy', 'polars', 'pytorch_optimizer'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
