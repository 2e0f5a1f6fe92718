from __future__ import annotations

import torch

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.xlinear import XLinear, _Gate


def test_a_gate_lets_a_share_through() -> None:
    torch.manual_seed(0)
    values = torch.randn(50, 6)
    share = _Gate(6, 8, 0.0)(values) / values
    assert (share > 0).all()
    assert (share < 1).all()


def test_channels_meet_in_the_gate_over_channels_alone() -> None:
    torch.manual_seed(0)
    network = XLinear(hidden_size=8, temporal_size=8, channel_size=6).build(TaskSpec(4, 12, channels=3)).eval()
    values = torch.randn(2, 12, 3)
    changed = values.clone()
    changed[..., 2] = torch.randn(2, 12)
    before, after = network(Batch(values)), network(Batch(changed))
    assert not torch.isclose(before, after, atol=1e-6).all(dim=(0, 1, 3)).any()
    torch.nn.init.zeros_(network.channel_gate.perceptron[0].weight)
    before, after = network(Batch(values)), network(Batch(changed))
    assert torch.isclose(before, after, atol=1e-6).all(dim=(0, 1, 3)).tolist() == [True, True, False]
