"""Numerical gradients: their orders, their passes, and that they leave everything as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.gradients.estimators.differences import CentralDifference, ForwardDifference
from neuro_divergent.training.gradients.finite_difference import (
    DifferenceMethod,
    GradientCostWarning,
    default_step,
    numerical_gradients,
)

METHODS: tuple[DifferenceMethod, ...] = ("central", "forward")


def network(dropout: float = 0.0, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(dropout), nn.Linear(4, 1)).to(dtype)


def autodiff(module: nn.Module, cost: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(cost, list(module.parameters())))


@pytest.mark.parametrize(("method", "order"), [("forward", 1), ("central", 2)])
def test_the_error_shrinks_with_the_order_of_the_method(method: DifferenceMethod, order: int) -> None:
    weight = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
    exact = 3 * float(torch.tensor(2.1, dtype=torch.float64).cos()) * float(torch.tensor(2.1).double().sin().exp())
    steps = [1e-1, 1e-2, 1e-3]
    errors = []
    for step in steps:
        weight.grad = None
        numerical_gradients(lambda: (3 * weight).sin().exp(), [weight], method, step)
        assert weight.grad is not None
        errors.append(abs(float(weight.grad) - exact))
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 2e-2)])
def test_numerical_gradients_equal_those_of_autodiff(
    method: DifferenceMethod, dtype: torch.dtype, tolerance: float
) -> None:
    module, inputs = network(dtype=dtype), torch.randn(8, 3, dtype=dtype)
    expected = autodiff(module, module(inputs).square().mean())
    cost = numerical_gradients(lambda: module(inputs).square().mean(), module.parameters(), method)
    torch.testing.assert_close(cost, module(inputs).square().mean().detach(), rtol=0, atol=0)
    for parameter, gradient in zip(module.parameters(), expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_dropout_leaves_out_the_same_units_in_every_pass_and_others_in_the_next_step(method: DifferenceMethod) -> None:
    module, inputs = network(dropout=0.5).train(), torch.randn(8, 3, dtype=torch.float64)
    torch.manual_seed(7)
    expected = autodiff(module, module(inputs).square().mean())
    following = torch.rand(3)
    torch.manual_seed(7)
    numerical_gradients(lambda: module(inputs).square().mean(), module.parameters(), method)
    assert torch.equal(torch.rand(3), following)
    for parameter, gradient in zip(module.parameters(), expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_passes_are_as_many_as_announced_and_run_without_gradients(method: DifferenceMethod) -> None:
    module, passes = network(), 0
    module[0].bias.requires_grad_(False)

    def cost() -> Tensor:
        nonlocal passes
        passes += 1
        assert not torch.is_grad_enabled()
        result: Tensor = module(torch.ones(2, 3, dtype=torch.float64)).sum()
        return result

    numerical_gradients(cost, module.parameters(), method)
    weights = 3 * 4 + 4 + 1
    estimator = {"central": CentralDifference(), "forward": ForwardDifference()}[method]
    assert passes == estimator.forward_passes(module) == 1 + weights * (2 if method == "central" else 1)
    assert module[0].bias.grad is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("failing", [None, 5, 6])
def test_weights_are_the_same_to_the_bit_afterwards_also_after_an_error(
    method: DifferenceMethod, failing: int | None
) -> None:
    module = network(dtype=torch.float32)
    with torch.no_grad():
        module[0].weight[0] = torch.tensor([-0.0, 1e-38, 1 / 3])
    before = [parameter.detach().clone().view(torch.int32) for parameter in module.parameters()]
    passes = 0

    def cost() -> Tensor:
        nonlocal passes
        passes += 1
        if passes == failing:
            raise KeyboardInterrupt
        result: Tensor = module(torch.ones(2, 3)).sum()
        return result

    if failing is None:
        numerical_gradients(cost, module.parameters(), method)
    else:
        with pytest.raises(KeyboardInterrupt):
            numerical_gradients(cost, module.parameters(), method)
    for parameter, bits in zip(module.parameters(), before, strict=True):
        assert torch.equal(parameter.detach().view(torch.int32), bits)


def test_gradients_are_added_as_backward_adds_them() -> None:
    weight = nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64).expand(2, 2).T)  # not contiguous
    weight.data = weight.data.clone(memory_format=torch.preserve_format)
    for _ in range(2):
        numerical_gradients(lambda: weight.square().sum(), [weight])
    assert weight.grad is not None
    torch.testing.assert_close(weight.grad, 4 * weight.detach(), rtol=1e-8, atol=0)


def test_buffers_are_left_as_one_pass_leaves_them() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).double()
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).double()
    other.load_state_dict(module.state_dict())
    inputs = torch.randn(5, 3, dtype=torch.float64)
    other(inputs)
    numerical_gradients(lambda: module(inputs).square().sum(), module.parameters(), buffers=module.buffers())
    for ours, one_pass in zip(module.buffers(), other.buffers(), strict=True):
        assert torch.equal(ours, one_pass)


def test_the_default_step_is_near_the_best_one() -> None:
    """Ten times smaller or larger steps are worse, on a function of the size of its derivatives."""
    weight = nn.Parameter(torch.linspace(0.2, 1.2, 40, dtype=torch.float64))
    exact = weight.detach().exp()
    for method in METHODS:
        worst = {}
        for factor in (0.01, 1.0, 100.0):
            weight.grad = None
            numerical_gradients(
                lambda: weight.exp().sum(), [weight], method, factor * default_step(method, weight.dtype)
            )
            assert weight.grad is not None
            worst[factor] = float((weight.grad - exact).abs().max())
        assert worst[1.0] < min(worst[0.01], worst[100.0])


def test_autodiff_is_no_numerical_method() -> None:
    weight = nn.Parameter(torch.ones(2))
    with pytest.raises(ConfigError, match="'autodiff' is no numerical method"):
        numerical_gradients(lambda: weight.sum(), [weight], "autodiff")


def test_the_warning_names_the_passes() -> None:
    with pytest.warns(GradientCostWarning, match=r"gradient='central' runs the network 43 times"):
        CentralDifference().start(network())
