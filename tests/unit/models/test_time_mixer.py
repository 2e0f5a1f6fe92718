from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.decomposition import Decomposition, Waves
from neuro_divergent.models.time_mixer import TimeMixer, _PastMixing, _pool, _split

SMALL = TimeMixer(hidden_size=4, feedforward_size=8, num_layers=2, num_scales=2, kernel_size=3)


@pytest.mark.parametrize("kind", ["average", "max"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_coarser_scale_is_of_what_was_observed(kind: str, masked: bool) -> None:
    torch.manual_seed(0)
    mask = (torch.rand(2, 8, 3) > 0.5).float() if masked else torch.ones(2, 8, 3)
    values = torch.randn(2, 8, 3) * mask
    pooled, seen = _pool(values, mask if masked else None, 3, kind)
    assert pooled.shape == (2, 2, 3)
    for row in range(2):
        for step in range(2):
            for channel in range(3):
                part = slice(3 * step, 3 * step + 3)
                kept = values[row, part, channel][mask[row, part, channel] > 0]
                expected = 0.0 if not len(kept) else kept.mean() if kind == "average" else kept.max()
                assert pooled[row, step, channel] == pytest.approx(float(expected), abs=1e-6)
                assert seen is None or seen[row, step, channel] == bool(len(kept))


def test_scales_are_as_long_as_the_history_allows() -> None:
    network = SMALL.replace(num_scales=4).build(TaskSpec(3, 7))
    values = torch.randn(2, 7, 1)
    assert [item.shape[1] for item, _ in network._coarsen(values, None)] == [7, 3, 1]
    assert SMALL.build(TaskSpec(3, 1))(Batch(values[:, :1], torch.ones(2, 1, 1))).isfinite().all()


def test_the_strongest_waves_are_the_season() -> None:
    clock = torch.arange(24, dtype=torch.float64) * 2 * math.pi / 24
    strong, weak = 3 * torch.sin(2 * clock + 1), torch.cos(5 * clock)
    values = (strong + weak + 7)[None, :, None]
    for waves, season in ((1, strong), (2, strong + weak), (20, strong + weak)):
        torch.testing.assert_close(Waves(waves)(values), season[None, :, None])


def test_a_constant_has_no_season() -> None:
    values = [torch.full((1, length, 2), 5.0) for length in (12, 6)]
    for kinds in ([Waves(3), Waves(3)], [Decomposition(12, 5), Decomposition(6, 5)]):
        seasons, trends = _split(values, nn.ModuleList(kinds))
        for season, trend, item in zip(seasons, trends, values, strict=True):
            torch.testing.assert_close(trend, item)
            torch.testing.assert_close(season, torch.zeros_like(item), atol=1e-6, rtol=0)


def test_seasons_flow_to_coarser_and_trends_to_finer_scales() -> None:
    torch.manual_seed(0)
    block = _PastMixing(SMALL, [12, 6, 3], nn.ModuleList())
    scales = [torch.randn(2, length, 4) for length in (12, 6, 3)]
    changed = [scales[0], scales[1] + torch.randn(2, 6, 4), scales[2]]

    def same(mix: str) -> list[bool]:
        results = zip(getattr(block, mix)(scales), getattr(block, mix)(changed), strict=True)
        return [torch.equal(before, after) for before, after in results]

    assert same("_mix_seasons") == [True, False, False]
    assert same("_mix_trends") == [False, False, True]


@pytest.mark.parametrize("decomposition", ["moving_average", "fourier"])
def test_channels_by_themselves_are_not_mixed(decomposition: str) -> None:
    torch.manual_seed(0)
    config = SMALL.replace(mix_channels=False, decomposition=decomposition)
    network = config.build(TaskSpec(4, 12, channels=3, outputs=2)).eval()
    values = torch.randn(2, 12, 3)
    changed = values.clone()
    changed[..., 2] = torch.randn(2, 12)
    same = torch.isclose(network(Batch(values)), network(Batch(changed)), atol=1e-6).all(dim=(0, 1, 3))
    assert same.tolist() == [True, True, False]


@pytest.mark.parametrize("mix_channels", [True, False])
@pytest.mark.parametrize("downsampling", ["average", "max"])
def test_every_parameter_is_trained(mix_channels: bool, downsampling: str) -> None:
    torch.manual_seed(0)
    config = SMALL.replace(mix_channels=mix_channels, downsampling=downsampling, decomposition="fourier", num_waves=2)
    network = config.build(TaskSpec(4, 12, channels=2, outputs=2))
    values = torch.randn(3, 12, 2)
    output = network(Batch(values, (torch.rand_like(values) > 0.3).float()))
    (output * torch.randn_like(output)).sum().backward()
    assert all(value.grad is not None and value.grad.any() for value in network.parameters())
    assert all(value.grad is not None and value.grad.isfinite().all() for value in network.parameters())


def test_the_average_must_have_a_middle() -> None:
    with pytest.raises(ConfigError, match="kernel_size: 4 must be odd"):
        TimeMixer(kernel_size=4)
