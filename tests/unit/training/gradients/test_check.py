"""The check of gradients: right ones pass, wrong ones do not, and nothing is touched."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.losses.point import MAE, MSE
from neuro_divergent.models.nhits import NHITS
from neuro_divergent.training.gradients.check import check_gradients


def test_a_loss_is_known_by_its_name() -> None:
    batch = torch.linspace(-1, 1, 6).view(3, 2), torch.ones(3, 1)
    assert check_gradients(nn.Linear(2, 1), batch, "mse").passed


class Scaled(torch.autograd.Function):
    """The identity, with a backward that is off by a factor."""

    @staticmethod
    def forward(context: Any, values: Tensor, factor: float) -> Tensor:
        context.factor = factor
        return values.clone()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return gradient * context.factor, None


class Wrong(nn.Module):
    """A network whose first layer gets a gradient that is off by a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.first, self.second, self.factor = nn.Linear(3, 5), nn.Linear(5, 2), factor

    def forward(self, inputs: Tensor) -> Tensor:
        result: Tensor = self.second(Scaled.apply(self.first(inputs).tanh(), self.factor))
        return result


INPUTS = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
TARGET = torch.randn(6, 2, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("method", ["central", "forward"])
@pytest.mark.parametrize("loss", [None, MSE(), nn.functional.mse_loss, lambda a, b: (a - b).square().mean().sqrt()])
def test_right_gradients_agree(method: Any, loss: Any) -> None:
    torch.manual_seed(0)
    check = check_gradients(Wrong(1.0), INPUTS if loss is None else (INPUTS, TARGET), loss, method=method)
    assert check.passed
    assert check.worst.error < 1e-5
    assert [row.name for row in check.parameters] == ["first.weight", "first.bias", "second.weight", "second.bias"]
    assert [row.checked for row in check.parameters] == [15, 5, 10, 2]
    assert str(check).startswith("gradients agree: worst relative error")


@pytest.mark.parametrize("factor", [1.001, 0.0, -1.0])
def test_wrong_gradients_are_found_where_they_are(factor: float) -> None:
    torch.manual_seed(0)
    check = check_gradients(Wrong(factor), (INPUTS, TARGET), MSE())
    assert not check.passed
    assert check.worst.name in {"first.weight", "first.bias"}
    assert check.worst.autodiff == pytest.approx(factor * check.worst.numeric, rel=1e-4, abs=1e-9)
    assert check.worst.error == pytest.approx(abs(1 - factor) / max(1.0, abs(factor)), rel=1e-2)
    good = [row for row in check.parameters if row.name.startswith("second")]
    assert all(row.error < 1e-6 for row in good)
    frame = check.frame()
    assert frame.columns == ["name", "entries", "checked", "error", "autodiff", "numeric"]
    assert frame.height == 4
    assert "DISAGREE" in str(check)


def test_a_small_loss_does_not_hide_a_wrong_gradient() -> None:
    torch.manual_seed(0)
    network = Wrong(0.5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1e-3)
    assert not check_gradients(network, INPUTS).passed


def test_a_gradient_that_is_not_finite_does_not_pass() -> None:
    network = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(network.weight)
    with torch.no_grad():
        check = check_gradients(network, (torch.ones(1, 2), torch.ones(1, 1)), lambda a, b: a.sqrt().sum() + b.sum())
    assert not check.passed
    with pytest.raises(InputError, match="the loss is inf"):
        check_gradients(network, (torch.ones(1, 2), torch.ones(1, 1)), lambda a, b: (a + b).sum() / 0)


def test_the_module_its_statistics_and_the_random_state_are_left_alone() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    before, random = copy.deepcopy(network.state_dict()), torch.get_rng_state()
    check = check_gradients(network, (INPUTS, TARGET), MSE())
    assert check.passed, check
    assert network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None and parameter.dtype == torch.float32 for parameter in network.parameters())
    assert torch.equal(torch.get_rng_state(), random)


def test_gradients_are_checked_in_the_mode_of_the_module() -> None:
    class WrongInEval(nn.Linear):
        def forward(self, inputs: Tensor) -> Tensor:
            output = super().forward(inputs)
            return output if self.training else Scaled.apply(output, 2.0)

    assert check_gradients(WrongInEval(3, 2), INPUTS).passed
    assert not check_gradients(WrongInEval(3, 2).eval(), INPUTS).passed


def test_a_sample_of_a_large_parameter_is_seeded() -> None:
    torch.manual_seed(0)
    network = nn.Linear(3, 40)
    few = check_gradients(network, INPUTS, max_entries=7)
    assert [(row.checked, row.entries) for row in few.parameters] == [(7, 120), (7, 40)]
    assert few == check_gradients(network, INPUTS, max_entries=7)
    assert few != check_gradients(network, INPUTS, max_entries=7, seed=1)
    assert few.passed


def test_batches_of_windows_with_masks_and_weights_are_costed_as_in_training() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(horizon=4, input_size=12)
    network = NHITS(hidden_size=4, activation="tanh", dropout=0.2).build(spec)
    past, future = torch.randn(5, 12, 1), torch.randn(5, 4, 1)
    batch = Batch(
        past,
        torch.ones_like(past),
        future_y=future,
        future_mask=(torch.rand_like(future) > 0.3).float(),
        weight=torch.rand_like(future),
        series=torch.arange(5),
    )
    check = check_gradients(network, batch, MSE(), max_entries=10)
    assert check.passed, check
    unobserved = batch._replace(future_mask=torch.zeros_like(future))
    rows = check_gradients(network, unobserved, MAE(), max_entries=2).parameters
    assert all(row.autodiff == row.numeric == row.error == 0 for row in rows)


def test_frozen_parameters_are_not_checked_and_unused_ones_have_zero_gradient() -> None:
    network = Wrong(1.0)
    network.first.weight.requires_grad_(False)
    network.extra = nn.Linear(1, 1)
    check = check_gradients(network, INPUTS)
    assert check.passed
    assert {row.name: row.autodiff for row in check.parameters}["extra.weight"] == 0
    assert "first.weight" not in {row.name for row in check.parameters}


def test_what_cannot_be_checked_is_said() -> None:
    with pytest.raises(InputError, match="ReLU has no trainable parameters"):
        check_gradients(nn.ReLU(), INPUTS)
    with pytest.raises(ConfigError, match="no numerical method"):
        check_gradients(nn.Linear(3, 1), INPUTS, method="autodiff")
    with pytest.raises(ConfigError, match="max_entries: 0 must be at least 1"):
        check_gradients(nn.Linear(3, 1), INPUTS, max_entries=0)
