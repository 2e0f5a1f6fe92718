from __future__ import annotations

import torch

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.mlp import MLP
from neuro_divergent.models.mlp_multivariate import MLPMultivariate


def test_with_one_channel_it_is_the_perceptron() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(4, 6, outputs=2, past=(Feature("rain"),), static=(Feature("size"),))
    values = torch.randn(3, 6, 1)
    batch = Batch(values, torch.ones_like(values), past_x=torch.randn(3, 6, 1), static_x=torch.randn(3, 1))
    one, all_at_once = MLP(hidden_size=8).build(spec), MLPMultivariate(hidden_size=8).build(spec)
    all_at_once.load_state_dict(one.state_dict())
    torch.testing.assert_close(all_at_once(batch), one(batch))


def test_each_channel_has_weights_of_its_own() -> None:
    spec = TaskSpec(4, 6, channels=3)
    shapes = [tuple(value.shape) for value in MLPMultivariate(hidden_size=8, num_layers=1).build(spec).parameters()]
    assert shapes == [(8, 18), (8,), (12, 8), (12,)]
