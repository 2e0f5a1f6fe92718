from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.nbeats import NBEATS, NBEATSx

SPEC = TaskSpec(6, 10, outputs=2, past=(Feature("load"),), future=(Feature("wind"), Feature("price")))


def example(spec: TaskSpec) -> Batch:
    torch.manual_seed(0)
    values = torch.randn(3, spec.input_size, 1, dtype=torch.float64)
    future = torch.randn(3, spec.input_size + spec.horizon, 2, dtype=torch.float64)
    static = torch.randn(3, 1, dtype=torch.float64) if spec.static else None
    past = torch.randn(3, spec.input_size, 1, dtype=torch.float64)
    return Batch(values, torch.ones_like(values), past, future, static)


def test_an_exogenous_stack_forecasts_a_sum_of_covariates() -> None:
    batch = example(SPEC)
    network = NBEATSx(stacks=("exogenous",), num_blocks=2, hidden_size=8).build(SPEC).double().eval()
    change = network(batch)[:, :, 0] - batch.past_y[:, -1:]
    assert batch.future_x is not None
    ahead = batch.future_x[:, -SPEC.horizon :]
    fitted = ahead @ torch.linalg.lstsq(ahead, change).solution
    assert change.abs().max() > 1e-3
    torch.testing.assert_close(fitted, change)


def test_a_static_covariate_is_a_level_of_an_exogenous_stack() -> None:
    spec = TaskSpec(6, 10, static=(Feature("size"),))
    batch = example(spec)._replace(past_x=None, future_x=None)
    network = NBEATSx(stacks=("exogenous",), hidden_size=8).build(spec).double().eval()
    change = (network(batch)[:, :, 0, 0] - batch.past_y[:, -1]).detach()
    assert change.abs().min() > 1e-4
    torch.testing.assert_close(change.diff(dim=1), torch.zeros(3, 5, dtype=torch.float64))


def test_what_an_exogenous_block_explains_stands_at_the_steps_of_its_covariates() -> None:
    batch = example(SPEC)
    network = NBEATSx(stacks=("exogenous",), hidden_size=8).build(SPEC).double().eval()
    block = network.stack.blocks[0]
    torch.nn.init.zeros_(block.block.coefficients.weight)
    with torch.no_grad():  # two weights for the history, then two for each output
        block.block.coefficients.bias.copy_(torch.tensor([2.0, -1.0, 0.0, 0.0, 0.0, 0.0]))
    latest_first = batch.past_y[:, :, 0].flip(1)
    backcast, _ = block(latest_first, batch.past_x, batch.future_x, None, with_backcast=True)
    assert batch.future_x is not None
    explained = 2 * batch.future_x[:, :10, 0] - batch.future_x[:, :10, 1]
    torch.testing.assert_close(backcast.flip(1), explained)


def test_without_covariates_it_is_nbeats() -> None:
    spec = TaskSpec(6, 10)
    batch = example(spec)._replace(past_x=None, future_x=None)
    ours, plain = NBEATSx(hidden_size=8).build(spec).double(), NBEATS(hidden_size=8).build(spec).double()
    ours.load_state_dict(plain.state_dict())
    assert torch.equal(ours(batch), plain(batch))


@pytest.mark.parametrize("spec", [TaskSpec(6, 10), TaskSpec(6, 10, past=(Feature("load"),))])
def test_an_exogenous_stack_needs_covariates_of_the_horizon(spec: TaskSpec) -> None:
    with pytest.raises(ConfigError, match="exogenous stack needs covariates that are known ahead or static"):
        NBEATSx(stacks=("exogenous",)).build(spec)


def test_gradients_reach_every_parameter_of_the_published_stacks() -> None:
    batch = example(SPEC)
    network = NBEATSx(stacks=("trend", "seasonality", "exogenous"), hidden_size=8).build(SPEC).double()
    network(batch).square().sum().backward()
    assert all(value.grad is not None and value.grad.any() for value in network.parameters())
