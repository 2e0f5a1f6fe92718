"""TimeXer: who looks at whom."""

from __future__ import annotations

import torch

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.timexer import TimeXer

SMALL = TimeXer(hidden_size=16, feedforward_size=16, patch_length=4)


def test_without_layers_between_series_only_the_global_token_carries_the_others() -> None:
    torch.manual_seed(0)
    network = SMALL.build(TaskSpec(3, 12, channels=2)).eval()
    batch = Batch(torch.randn(4, 12, 2), torch.ones(4, 12, 2))
    changed = batch._replace(past_y=torch.stack([batch.past_y[..., 0], batch.past_y[..., 1].flip(1)], 2))
    assert not torch.allclose(network(changed)[:, :, 0], network(batch)[:, :, 0], atol=1e-6)
    for layer in network.layers:
        torch.nn.init.zeros_(layer.cross_attention.output.weight)
    torch.testing.assert_close(network(changed)[:, :, 0], network(batch)[:, :, 0])


def test_reads_every_value_of_a_history_that_is_no_multiple_of_the_patches() -> None:
    torch.manual_seed(0)
    network = SMALL.replace(use_norm=False).build(TaskSpec(3, 10)).eval()
    for layer in network.layers:
        torch.nn.init.zeros_(layer.cross_attention.output.weight)
    values = torch.randn(1, 10, 1, requires_grad=True)
    network(Batch(values, torch.ones(1, 10, 1))).square().sum().backward()
    assert values.grad is not None
    assert values.grad.all()


def test_covariates_are_further_series() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(3, 12, past=(Feature("rain"),), static=(Feature("size"),))
    network = SMALL.build(spec).eval()
    batch = Batch(torch.randn(4, 12, 1), torch.ones(4, 12, 1), past_x=torch.ones(4, 12, 1), static_x=torch.ones(4, 1))
    swapped = batch._replace(past_x=batch.past_x * 2, static_x=batch.static_x * 2)  # type: ignore[operator]
    assert not torch.allclose(network(swapped), network(batch), atol=1e-6)
    either = [batch._replace(past_x=torch.full((4, 12, 1), 2.0)), batch._replace(static_x=torch.full((4, 1), 2.0))]
    torch.testing.assert_close(network(either[0]), network(either[1]))
