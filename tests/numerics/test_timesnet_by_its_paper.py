"""TimesNet compared with a second, slow reading of its paper: forward pass and gradients.

Letters: B batch, L history, T history and horizon, C channel, D hidden, F frequency.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.timesnet import TimesNet

_HISTORY, _HORIZON, _CHANNELS, _TOP_K, _KERNELS, _LAYERS = 24, 18, 3, 4, 6, 2


def read_by_the_paper(
    weights: dict[str, Tensor], values_BLC: Tensor, calendar_BTE: Tensor | None, ahead: bool = False
) -> Tensor:
    """Forecast ``(batch, horizon, channel)`` with the weights of a network, step by step."""
    ring = torch.cat([values_BLC[:, -1:], values_BLC, values_BLC[:, :1]], 1)
    tokens = functional.conv1d(ring.transpose(1, 2), weights["embedding.values.projection.weight"]).transpose(1, 2)
    width = tokens.shape[2]
    for step in range(_HISTORY):
        for place in range(width):
            angle = step / 10000 ** (place // 2 * 2 / width)
            wave = math.sin(angle) if place % 2 == 0 else math.cos(angle)
            tokens[:, step, place] += torch.tensor(wave, dtype=torch.float32)  # the network keeps them like this
    if calendar_BTE is not None:
        tokens = tokens + calendar_BTE[:, :_HISTORY] @ weights["embedding.covariates.weight"].T
    tokens = torch.einsum("tl,bld->btd", weights["lengthen.weight"], tokens) + weights["lengthen.bias"][:, None]
    if calendar_BTE is not None and ahead:  # not in the paper: the covariates of the horizon
        known = calendar_BTE[:, _HISTORY:] @ weights["embedding.covariates.weight"].T
        tokens = torch.cat([tokens[:, :_HISTORY], tokens[:, _HISTORY:] + known], 1)
    for layer in range(_LAYERS):
        tokens = tokens + _block(weights, f"blocks.{layer}", tokens)
        centred = tokens - tokens.mean(2, keepdim=True)
        scaled = centred / (centred.square().mean(2, keepdim=True) + 1e-5).sqrt()
        tokens = scaled * weights["norm.weight"] + weights["norm.bias"]
    return tokens[:, _HISTORY:] @ weights["output.weight"].T + weights["output.bias"]


def _block(weights: dict[str, Tensor], block: str, tokens_BTD: Tensor) -> Tensor:
    """Return the weighted sum over the periods that are strongest on average over the batch."""
    steps = tokens_BTD.shape[1]
    clock = torch.arange(steps, dtype=torch.float64)
    turns_FT = 2 * math.pi / steps * clock[1 : steps // 2 + 1, None] * clock
    cosine, sine = (torch.einsum("ft,btd->bfd", wave, tokens_BTD) for wave in (turns_FT.cos(), turns_FT.sin()))
    amplitudes_BF = (cosine.square() + sine.square()).sqrt().mean(2)
    strongest = amplitudes_BF.mean(0).argsort(descending=True)[:_TOP_K].tolist()
    strengths_BK = amplitudes_BF[:, strongest]
    exponentials = (strengths_BK - strengths_BK.amax(1, keepdim=True)).exp()
    shares_BK = exponentials / exponentials.sum(1, keepdim=True)
    total = torch.zeros_like(tokens_BTD)
    for place, frequency in enumerate(strongest):
        period = steps // (frequency + 1)
        rows = math.ceil(steps / period)
        padded = torch.cat([tokens_BTD, tokens_BTD.new_zeros(len(tokens_BTD), rows * period - steps, 4)], 1)
        picture = padded.reshape(-1, rows, period, 4).permute(0, 3, 1, 2)
        hidden = _inception(weights, f"{block}.widen", picture)
        hidden = hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
        found = _inception(weights, f"{block}.narrow", hidden).permute(0, 2, 3, 1).reshape(-1, rows * period, 4)
        total = total + shares_BK[:, place, None, None] * found[:, :steps]
    return total


def _inception(weights: dict[str, Tensor], name: str, picture: Tensor) -> Tensor:
    """Return the mean of the convolutions with kernels of 1, 3, ... 11 steps."""
    found = [
        functional.conv2d(picture, weights[f"{name}.weights.{reach}"], weights[f"{name}.biases.{reach}"], padding=reach)
        for reach in range(_KERNELS)
    ]
    return sum(found[1:], found[0]) / _KERNELS


@pytest.mark.parametrize(
    ("calendar", "ahead", "level"), [(False, False, 1.0), (True, False, 1.0), (True, True, 1.0), (False, False, 1e2)]
)
def test_forecasts_and_gradients_are_those_of_a_second_reading(calendar: bool, ahead: bool, level: float) -> None:
    torch.manual_seed(0)
    known = (Feature("hour"), Feature("day")) if calendar else ()
    architecture = TimesNet(
        hidden_size=4,
        conv_hidden_size=6,
        top_k=_TOP_K,
        num_kernels=_KERNELS,
        periods="batch",
        joint_channels=True,
        horizon_covariates=ahead,
    )
    network = architecture.build(TaskSpec(_HORIZON, _HISTORY, _CHANNELS, future=known)).double().eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    values = level * torch.randn(5, _HISTORY, _CHANNELS, dtype=torch.float64)  # at 1e2 most periods have no share
    future = torch.randn(5, _HISTORY + _HORIZON, 2, dtype=torch.float64) if calendar else None
    target = torch.randn(5, _HORIZON, _CHANNELS, dtype=torch.float64)
    weights = {name: value.detach().clone().requires_grad_() for name, value in network.named_parameters()}

    ours = network(Batch(values, future_x=future))[..., 0]
    theirs = read_by_the_paper(weights, values, future, ahead)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)

    (ours - target).square().mean().backward()
    (theirs - target).square().mean().backward()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, weights[name].grad, rtol=1e-7, atol=1e-9, msg=name)
