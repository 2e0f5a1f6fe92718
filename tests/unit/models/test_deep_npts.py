from __future__ import annotations

import torch

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.deep_npts import DeepNPTS


def test_deepnpts_weights_sum_to_one_over_observed_values() -> None:
    torch.manual_seed(0)
    network = DeepNPTS().build(TaskSpec(4, 12, outputs=3)).eval()
    mask = (torch.rand(6, 12) > 0.4).float()
    mask[:, 0] = 1
    weights = network._weights(torch.randn(6, 12), mask)
    assert weights.shape == (6, 12, 12)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(6, 12))
    assert not weights[mask == 0].any()


def test_no_forecast_leaves_the_range_of_the_history() -> None:
    torch.manual_seed(0)
    network = DeepNPTS(norm="none", hidden_size=64).build(TaskSpec(4, 12, channels=2)).eval()
    values = torch.randn(50, 12, 2) * 5 + 100
    mask = (torch.rand(50, 12, 2) > 0.3).float()
    mask[:, 0] = 1
    forecast = network(Batch(values * mask, mask))[..., 0]
    lowest = values.masked_fill(mask == 0, torch.inf).amin(1, keepdim=True)
    highest = values.masked_fill(mask == 0, -torch.inf).amax(1, keepdim=True)
    assert (forecast >= lowest - 1e-4).all()
    assert (forecast <= highest + 1e-4).all()
