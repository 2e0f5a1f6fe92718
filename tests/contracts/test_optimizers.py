"""What every optimizer must do."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.training.optimizers.base import Optimizer

NAMES = Optimizer.registry.names()


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 1))


@pytest.mark.parametrize("name", NAMES)
def test_lowers_a_loss(name: str) -> None:
    module = network()
    optimizer = Optimizer.from_dict({"name": name, "lr": 0.01}).build(module)
    inputs = torch.randn(64, 3, generator=torch.Generator().manual_seed(1))
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
def test_biases_and_norms_do_not_decay(name: str) -> None:
    module = network()
    optimizer = Optimizer.from_dict({"name": name, "weight_decay": 0.5}).build(module)
    decayed = {id(p) for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]}
    assert decayed == {id(p) for p in module.parameters() if p.ndim >= 2}
    held = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in module.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_leaves_frozen_parameters_alone(name: str) -> None:
    module = network()
    module[0].requires_grad_(False)
    before = module[0].weight.clone()
    optimizer = Optimizer.from_dict(name).build(module)
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    assert torch.equal(module[0].weight, before)


@pytest.mark.parametrize("name", NAMES)
def test_takes_up_its_state_again(name: str) -> None:
    def run(module: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
        for _ in range(steps):
            module(torch.ones(2, 3)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    config = Optimizer.from_dict(name)
    whole = network()
    run(whole, config.build(whole), 6)
    first = network()
    optimizer = config.build(first)
    run(first, optimizer, 3)
    second = network()
    second.load_state_dict(first.state_dict())
    resumed = config.build(second)
    resumed.load_state_dict(optimizer.state_dict())
    run(second, resumed, 3)
    for one, other in zip(whole.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
