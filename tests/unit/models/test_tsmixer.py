from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.softs import SOFTS
from neuro_divergent.models.time_mixer import TimeMixer
from neuro_divergent.models.tsmixer import TSMixer
from neuro_divergent.models.tsmixerx import TSMixerx
from neuro_divergent.models.xlinear import XLinear

SMALL = [
    TSMixer(hidden_size=8, dropout=0.1),
    TSMixerx(hidden_size=8),
    SOFTS(hidden_size=8, core_size=8, feedforward_size=8),
    TimeMixer(hidden_size=8, num_layers=1, kernel_size=3),
    XLinear(hidden_size=8, temporal_size=8, channel_size=6),
]


@pytest.mark.parametrize("config", SMALL, ids=lambda config: config.name)
def test_forecasts_follow_the_level_and_spread_of_each_channel(config: Architecture) -> None:
    torch.manual_seed(0)
    spec = TaskSpec(4, 12, channels=3, outputs=2)
    values = torch.randn(2, 12, 3, dtype=torch.float64) * 10
    mask = torch.ones(1, 1, 1, dtype=torch.float64).expand(values.shape)
    scale, level = torch.tensor([2.0, 3.0, 5.0]).double(), torch.tensor([10.0, -4.0, 7.0]).double()
    network = config.build(spec).double().eval()
    expected = network(Batch(values, mask)) * scale[:, None] + level[:, None]
    torch.testing.assert_close(network(Batch(values * scale + level, mask)), expected, rtol=1e-4, atol=1e-4)
    raw = config.replace(use_norm=False).build(spec).double().eval()
    assert not torch.allclose(raw(Batch(values + level, mask)), raw(Batch(values, mask)) + level[:, None], atol=1e-2)


def test_an_extended_mixer_reads_only_the_covariates_there_are() -> None:
    count = [
        sum(value.numel() for value in TSMixerx(hidden_size=8).build(spec).parameters())
        for spec in (TaskSpec(4, 12), TaskSpec(4, 12, future=(Feature("price"),)))
    ]
    # One more input of the mixing of the history, a mixing of the future, and twice the width of the first block.
    of_history = 8 + 8
    of_future = (8 + 8) + (64 + 8) + (8 + 8) + 2 * 4 * 8
    twice_the_width = 2 * 4 * 8 + 64 + (2 * 8 * 8 + 8)
    assert count[1] - count[0] == of_history + of_future + twice_the_width
