from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.bitcn import BiTCN

SPEC = TaskSpec(5, 11, future=(Feature("f"),))


@pytest.mark.parametrize(("input_size", "layers"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (96, 7)])
def test_has_as_many_layers_as_it_takes_to_see_the_history(input_size: int, layers: int) -> None:
    network = BiTCN().build(TaskSpec(3, input_size))
    assert len(network.backward_network.layers) == layers
    assert network.forward_network is None


@torch.no_grad()
def test_bitcn_reads_history_backward_and_covariates_forward() -> None:
    torch.manual_seed(0)
    network = BiTCN().build(SPEC).double().eval()
    history, known = torch.randn(11, 2, 2).double(), torch.randn(16, 2, 1).double()
    for step in (0, 4, 10):
        changed = history.clone()
        changed[step] += 1
        moved = network.backward_network(changed) != network.backward_network(history)
        assert not moved[:step].any()
        assert moved[[step, -1]].any(2).all(), "the last state sees every step"
        changed = known.clone()
        changed[step] += 1
        moved = network.forward_network(changed) != network.forward_network(known)
        assert not moved[step + 1 :].any()
        assert moved[[0, step]].any(2).all(), "the first state sees every step"


@torch.no_grad()
def test_what_is_known_ahead_reaches_all_steps_of_the_horizon_up_to_it() -> None:
    torch.manual_seed(0)
    network = BiTCN().build(SPEC).double().eval()
    values = torch.randn(3, 11, 1).double()
    batch = Batch(values, torch.ones_like(values), future_x=torch.randn(3, 16, 1).double())
    assert batch.future_x is not None
    later = batch.future_x.clone()
    later[:, -1] += 1
    assert (network(batch._replace(future_x=later)) != network(batch)).all()
