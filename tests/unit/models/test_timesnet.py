from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models import timesnet
from neuro_divergent.models.timesnet import TimesNet, _apply, _Inception, _TimesBlock, find_periods


def waves(*lengths: int, steps: int = 96) -> torch.Tensor:
    """Return a sum of sines, the first the strongest, ``(1, time, 1)``."""
    clock = torch.arange(steps, dtype=torch.float64)
    parts = [torch.sin(2 * math.pi * clock / length) / (place + 1) for place, length in enumerate(lengths)]
    return torch.stack(parts).sum(0)[None, :, None]


@pytest.mark.parametrize("length", [2, 3, 4, 8, 12, 24, 48, 96])
def test_finds_the_period_of_a_sine(length: int) -> None:
    moved = waves(length) + 1000 + 0.01 * waves(5) if length > 2 else waves(4).square() + 5
    periods, strengths = find_periods(moved, 1)
    assert periods.tolist() == [[length]]
    assert strengths.shape == (1, 1)


def test_finds_the_periods_of_each_row_strongest_first() -> None:
    rows = torch.cat([waves(24, 6), waves(8, 48), waves(12, 24)])
    periods, strengths = find_periods(rows, 2)
    assert periods.tolist() == [[24, 6], [8, 48], [12, 24]]
    torch.testing.assert_close(strengths, torch.tensor([[48.0, 24.0]], dtype=torch.float64).expand(3, 2))
    together, _ = find_periods(rows, 1, over_batch=True)
    assert together.tolist() == [[24]] * 3, "24 is strongest over all rows"


def test_there_are_no_more_periods_than_frequencies() -> None:
    assert find_periods(torch.randn(3, 5, 2), 5)[0].shape == (3, 2)
    assert find_periods(torch.randn(3, 2, 2), 5)[0].tolist() == [[2]] * 3


@pytest.mark.parametrize(("folds", "period"), [(1, 24), (2, 12), (8, 3), (24, 1), (20, 20), (4, 6)])
def test_one_kernel_is_the_mean_of_all_kernels(folds: int, period: int) -> None:
    torch.manual_seed(0)
    block = _Inception(3, 4, 6).double()
    for bias in block.biases:
        torch.nn.init.normal_(bias)
    picture = torch.randn(2, 3, folds, period, dtype=torch.float64)
    each = [
        functional.conv2d(picture, weight, bias, padding=reach)
        for reach, (weight, bias) in enumerate(zip(block.weights, block.biases, strict=True))
    ]
    torch.testing.assert_close(_apply(picture, *block.merged()), torch.stack(each).mean(0))


@torch.no_grad()
def test_windows_of_different_periods_are_forecast_as_each_by_itself() -> None:
    torch.manual_seed(0)
    network = TimesNet(hidden_size=8, conv_hidden_size=8).build(TaskSpec(8, 40)).double().eval()
    values = torch.cat([waves(20, steps=40), waves(7, 3, steps=40), waves(2, 11, steps=40), torch.randn(2, 40, 1)])
    batch = Batch(values, torch.ones_like(values))
    alone = [network(Batch(row[None], torch.ones_like(row[None]))) for row in values]
    torch.testing.assert_close(network(batch), torch.cat(alone))


@torch.no_grad()
def test_periods_without_a_share_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[tuple[int, int]] = []

    def record(values: torch.Tensor, period: int, *kernels: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        computed.append((period, len(values)))
        return torch.zeros_like(values)

    monkeypatch.setattr(timesnet, "_convolve", record)
    block = _TimesBlock(TimesNet(hidden_size=1, conv_hidden_size=1, top_k=2))
    weak, strong = waves(24, 8), 1e3 * waves(24, 8)
    block(torch.cat([weak, strong]))
    assert computed == [(8, 1), (24, 2)], "8 has a share of exp(-24,000) in the strong row, which is 0"


@torch.no_grad()
def test_channels_can_be_read_together() -> None:
    torch.manual_seed(0)
    network = TimesNet(hidden_size=8, conv_hidden_size=8, joint_channels=True).build(TaskSpec(4, 12, 3, 2)).eval()
    values = torch.randn(5, 12, 3)
    batch = Batch(values, torch.ones_like(values))
    forecast = network(batch)
    assert forecast.shape == (5, 4, 3, 2)
    moved = network(batch._replace(past_y=values + torch.tensor([0.0, 0.0, 1.0])))
    assert (moved[:, :, 0] != forecast[:, :, 0]).any()


@torch.no_grad()
@pytest.mark.parametrize("used", [True, False])
def test_covariates_of_the_horizon_count_only_if_asked_for(used: bool) -> None:
    torch.manual_seed(0)
    architecture = TimesNet(hidden_size=8, conv_hidden_size=8, horizon_covariates=used)
    network = architecture.build(TaskSpec(4, 12, future=(Feature("hour"),))).eval()
    batch = Batch(torch.randn(3, 12, 1), future_x=torch.randn(3, 16, 1))
    assert batch.future_x is not None
    later, before = batch.future_x.clone(), batch.future_x.clone()
    later[:, 12:] += 1
    before[:, 5] += 1
    forecast = network(batch)
    assert torch.equal(forecast, network(batch._replace(future_x=later))) != used
    assert not torch.equal(forecast, network(batch._replace(future_x=before)))
