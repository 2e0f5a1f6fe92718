"""Activations of networks whose units are known to be dead, saturated or alike."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.spec import Batch
from neuro_divergent.diagnostics.activations import describe_activations, utilisation
from neuro_divergent.diagnostics.structure import ROOT


class Network(nn.Module):
    """Sends the history, ``(batch, steps)``, through some layers."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, batch: Batch) -> Tensor:
        result: Tensor = self.layers(batch.past_y[..., 0])
        return result


def windows(count: int = 100, steps: int = 6) -> Batch:
    values = torch.randn(count, steps, 1, generator=torch.Generator().manual_seed(0))
    return Batch(values)


def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


@pytest.mark.parametrize("inplace", [False, True])
def test_relu_units_that_are_always_zero_are_dead(inplace: bool) -> None:
    bias = torch.tensor([0.0, -100.0, 0.0, -100.0, 0.0])
    network = Network(linear(torch.randn(5, 6), bias), nn.ReLU(inplace=inplace), nn.Linear(5, 5))
    (row,) = describe_activations(network, windows())
    assert (row["layer"], row["kind"], row["units"]) == ("layers.1", "ReLU", 5)
    assert (row["dead_units"], row["dead_share"], row["saturated_share"]) == (2, 0.4, None)


@pytest.mark.parametrize("kind", [nn.GELU, nn.ELU, nn.LeakyReLU, nn.SiLU, nn.Softplus, nn.Tanh])
def test_constant_units_are_dead(kind: type[nn.Module]) -> None:
    weight = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))
    weight[:2] = 0
    (row,) = describe_activations(Network(linear(weight, torch.full((5,), 0.3)), kind()), windows())
    assert (row["kind"], row["dead_units"]) == (kind.__name__, 2)


def test_a_unit_that_is_active_once_is_alive() -> None:
    batch = windows()
    bias = torch.tensor([1e-4]) - batch.past_y[:, 0, 0].max()
    (row,) = describe_activations(Network(linear(torch.eye(6)[:1], bias), nn.ReLU()), batch)
    assert row["dead_units"] == 0


@pytest.mark.parametrize("kind", [nn.Sigmoid, nn.Tanh, nn.Hardtanh])
def test_outputs_at_a_limit_are_saturated(kind: type[nn.Module]) -> None:
    weight = torch.eye(6)[:4] * torch.tensor([[1e6], [1e6], [0.01], [0.01]])
    (row,) = describe_activations(Network(linear(weight, torch.zeros(4)), kind()), windows())
    assert row["saturated_share"] == pytest.approx(0.5)


def test_functions_count_like_modules_and_belong_to_the_block_that_calls_them() -> None:
    class Gate(nn.Module):
        def forward(self, values: Tensor) -> Tensor:
            return functional.silu(values) * values.sigmoid() + torch.relu(values)

    network = Network(nn.Linear(6, 5), Gate(), nn.ReLU6())
    found = {(row["layer"], row["kind"]) for row in describe_activations(network, windows())}
    assert found == {("layers.1", "SiLU"), ("layers.1", "Sigmoid"), ("layers.1", "ReLU"), ("layers.2", "ReLU6")}


def test_units_of_convolutions_are_their_channels() -> None:
    class Convolution(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = nn.Conv1d(1, 7, 3)
            self.linear = nn.Linear(7, 2)

        def forward(self, batch: Batch) -> Tensor:
            hidden = self.convolution(batch.past_y.transpose(1, 2)).relu()
            return self.linear(hidden.transpose(1, 2)).tanh()

    found = describe_activations(Convolution(), windows())
    assert [(row["layer"], row["kind"], row["units"]) for row in found] == [(ROOT, "ReLU", 7), (ROOT, "Tanh", 2)]


def test_states_of_recurrent_layers_are_outputs() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.LSTM(1, 4, batch_first=True)

        def forward(self, batch: Batch) -> Tensor:
            states: Tensor = self.encoder(batch.past_y)[0]
            return states

    (row,) = describe_activations(Recurrent(), windows())
    assert (row["layer"], row["kind"], row["units"], row["dead_units"]) == ("encoder", "LSTM", 4, 0)


def test_few_outputs_give_no_statistics() -> None:
    (row,) = describe_activations(Network(nn.Linear(6, 5), nn.ReLU()), windows(3))
    assert row["units"] == 5
    assert row["dead_units"] is None is row["utilisation"]


def test_utilisation_is_the_participation_ratio_of_the_covariance() -> None:
    random = torch.Generator().manual_seed(3)
    spread = torch.tensor([4.0, 2.0, 1.0, 0.5])
    rows = torch.randn(200_000, 4, generator=random) * spread
    values = spread.square()
    assert utilisation(rows) == pytest.approx(float(values.sum() ** 2 / values.square().sum()) / 4, rel=0.02)


def test_utilisation_does_not_depend_on_the_number_of_outputs() -> None:
    rows = torch.randn(256, 512, generator=torch.Generator().manual_seed(4))
    assert utilisation(rows) == pytest.approx(1, abs=0.1)
    directions = torch.randn(8, 512, generator=torch.Generator().manual_seed(5))
    few = torch.randn(100, 8, generator=torch.Generator().manual_seed(6)) @ torch.linalg.qr(directions.T).Q.T
    assert utilisation(few) == pytest.approx(8 / 512, rel=0.15)


def test_utilisation_of_equal_units_is_that_of_one() -> None:
    rows = torch.randn(100, 1, generator=torch.Generator().manual_seed(7)).expand(100, 50)
    assert utilisation(rows) == pytest.approx(1 / 50, rel=0.02)
    assert utilisation(torch.ones(100, 5)) is None
