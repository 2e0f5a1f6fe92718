from __future__ import annotations

import torch

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.tide import TiDE


def test_the_decoder_of_a_step_counts_in_point_forecasts() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(4, 8)
    network = TiDE(hidden_size=16, temporal_hidden_size=16).build(spec).eval()
    values = torch.randn(5, 8, 1)
    beside_the_linear_map = network(Batch(values))[:, :, 0, 0] - network.skip(values[:, :, 0])
    assert beside_the_linear_map.std(0).min() > 1e-3, "a norm over one number would make it a constant"


def test_with_a_norm_over_the_one_output_as_published_only_the_linear_map_learns() -> None:
    """The published code normalises the decoder of a step too, so its figures are those of a linear map."""
    torch.manual_seed(0)
    network = TiDE(hidden_size=16, temporal_hidden_size=16).build(TaskSpec(4, 8, future=(Feature("price"),))).double()
    network.temporal_decoder.norm = torch.nn.LayerNorm(1, dtype=torch.float64)
    torch.nn.init.constant_(network.temporal_decoder.norm.bias, 0.7)
    values, future = torch.randn(5, 8, 1).double(), torch.randn(5, 12, 1).double()
    forecast = network(Batch(values, future_x=future))[:, :, 0, 0]
    torch.testing.assert_close(forecast, network.skip(values[:, :, 0]) + 0.7)
    forecast.square().sum().backward()
    learning = {name for name, weight in network.named_parameters() if weight.grad.abs().max() > 1e-9}
    assert learning == {"skip.weight", "skip.bias", "temporal_decoder.norm.bias"}


def test_a_step_sees_its_own_covariates_without_the_encoder() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(4, 8, future=(Feature("price"),))
    network = TiDE(hidden_size=16, temporal_hidden_size=16, norm="none").build(spec).eval()
    torch.nn.init.zeros_(network.encoder[0].entrance.weight)
    torch.nn.init.zeros_(network.encoder[0].skip.weight)
    future = torch.randn(3, 12, 1)
    values = torch.randn(3, 8, 1)
    batch = Batch(values, future_x=future)
    later = future.clone()
    later[:, 8 + 2] += 1
    same = torch.isclose(network(batch), network(batch._replace(future_x=later)), atol=1e-6)[:, :, 0, 0]
    assert same[:, [0, 1, 3]].all()
    assert not same[:, 2].any()
