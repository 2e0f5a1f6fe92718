"""Whether vectorized training pays is measured, once, without changing anything."""

from __future__ import annotations

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.training.vectorized import speed
from tests.unit.training.vectorized.together import members_of, trainings


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "_speedups", {})


def test_the_speedup_is_measured_once_and_leaves_networks_and_random_numbers_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = trainings(nd.NLinear(), [{"seed": seed} for seed in range(3)])
    before = [[parameter.detach().clone() for parameter in item.network.parameters()] for item in made]
    state = torch.get_rng_state()
    found = speed.speedup(members_of(made))
    assert found > 0
    assert torch.equal(torch.get_rng_state(), state)
    for weights, item in zip(before, made, strict=True):
        for mine, own in zip(weights, item.network.parameters(), strict=True):
            assert torch.equal(mine, own)
            assert own.grad is None
    monkeypatch.setattr(speed, "_measure", lambda *_: pytest.fail("measured twice"))
    assert speed.speedup(members_of(made)) == found


@pytest.mark.parametrize(
    "model",
    [nd.LSTM(hidden_size=4), nd.MLP(hidden_size=8, dropout=0.2), nd.MLP(hidden_size=8, norm="batch")],
    ids=["no batching rule", "random numbers", "buffers that change"],
)
def test_networks_that_cannot_be_vectorized_have_no_speedup(model: object) -> None:
    assert speed.speedup(members_of(trainings(model, [{"seed": seed} for seed in range(2)]))) == 0


def test_gradients_that_come_out_otherwise_have_no_speedup(monkeypatch: pytest.MonkeyPatch) -> None:
    right = speed.ModuleStack.differentiate

    def wrong(stack: speed.ModuleStack, *arguments: object) -> torch.Tensor:
        losses = right(stack, *arguments)  # type: ignore[arg-type]
        stack.gradients[0].mul_(1.01)
        return losses

    monkeypatch.setattr(speed.ModuleStack, "differentiate", wrong)
    assert speed.speedup(members_of(trainings(nd.NLinear(), [{"seed": seed} for seed in range(2)]))) == 0
