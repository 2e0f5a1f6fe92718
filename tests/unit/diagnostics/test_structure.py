"""The blocks of networks written for the purpose."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch
from neuro_divergent.diagnostics.structure import ROOT, describe_network


class Network(nn.Module):
    """Two linear layers in containers, one of them used twice, a list of parameters and a part that is not called."""

    def __init__(self) -> None:
        super().__init__()
        shared = nn.Linear(5, 5)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(6, 5), nn.ReLU(), shared)])
        self.again = shared
        self.scales = nn.ParameterList([torch.ones(2), torch.ones(3)])
        self.unused = nn.Linear(4, 4)
        self.recurrent = nn.LSTM(5, 3)

    def forward(self, batch: Batch) -> Tensor:
        hidden = self.again(self.layers[0](batch.past_y.flatten(1)))
        states: Tensor = self.recurrent(hidden.expand(7, *hidden.shape))[0]
        return states


def batch(size: int) -> Batch:
    return Batch(torch.ones(size, 6, 1), torch.ones(size, 6, 1))


def test_blocks_have_shapes_depth_and_parameters() -> None:
    network = Network()
    blocks = describe_network(network, batch(3))
    total = sum(parameter.numel() for parameter in network.parameters())
    recurrent = 4 * 3 * (5 + 3 + 2)
    keys = ("name", "kind", "depth", "inputs", "outputs", "own", "parameters")
    assert [tuple(block[key] for key in keys) for block in blocks] == [
        (ROOT, "Network", 0, [None, 6, 1], [7, None, 3], 5, total),
        ("layers.0.0", "Linear", 1, [None, 6], [None, 5], 35, 35),
        ("layers.0.1", "ReLU", 1, [None, 5], [None, 5], 0, 0),
        ("layers.0.2", "Linear", 1, [None, 5], [None, 5], 30, 30),
        ("unused", "Linear", 1, None, None, 20, 20),
        ("recurrent", "LSTM", 1, [7, None, 5], [7, None, 3], recurrent, recurrent),
    ]


def test_one_window_leaves_its_number_in_the_shapes() -> None:
    assert describe_network(Network(), batch(1))[0]["inputs"] == [1, 6, 1]


def test_a_network_that_fails_loses_its_hooks() -> None:
    network = Network()
    wrong = Batch(torch.ones(2, 9, 1), torch.ones(2, 9, 1))
    try:
        describe_network(network, wrong)
    except RuntimeError:
        pass
    else:
        raise AssertionError("nine steps do not fit a layer for six")
    assert not any(part._forward_hooks for part in network.modules())
    assert network.training
