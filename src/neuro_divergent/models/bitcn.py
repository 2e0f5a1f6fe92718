"""BiTCN: convolutions backward over the history and forward over the known covariates."""

from __future__ import annotations

from math import ceil, log2
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.convolution import SkipConvolution
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.sequence import OverTime, read_history, windows_first
from neuro_divergent.models.base import Architecture


@register("bitcn")
class BiTCN(Architecture):
    """Two temporal convolutional networks: backward over the history, forward over the covariates known ahead.

    Sprangers et al., "Parameter-Efficient Deep Probabilistic Forecasting", International Journal of Forecasting 2023,
    in the form that NeuralForecast gives it: a perceptron over time makes the states of the horizon, and the forward
    network is there only if something is known ahead. Each network has just as many layers as it takes to see the whole
    sequence, at least one. The residual output of the last layer is not used.

    Attributes:
        hidden_size: Width of a state, and hidden units of the perceptron over time.
        dropout: Fraction dropped in training of inputs, hidden states and the perceptron.

    Examples:
        The second network, over what is known ahead, is there only if something is:

        >>> import neuro_divergent as nd
        >>> for future in ((), (nd.models.Feature("price"),)):
        ...     network = nd.BiTCN().build(nd.models.TaskSpec(horizon=12, input_size=48, future=future))
        ...     print(len(future), "known ahead:", network.forward_network is not None)
        0 known ahead: False
        1 known ahead: True
    """

    traits: ClassVar[Traits] = Traits.with_covariates(
        "convolutional", "https://doi.org/10.1016/j.ijforecast.2021.11.011"
    )

    hidden_size: int = knob(16, choices=(16, 32), ge=1)
    dropout: float = knob(0.5, low=0.0, high=0.9, ge=0.0, lt=1.0)

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: BiTCN, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        ahead, hidden, dropout = self.covariates.future_size, config.hidden_size, config.dropout
        inputs = 1 + self.covariates.past_size + self.covariates.static_size + ahead
        self.backward_network = _Convolutions(inputs, hidden, spec.input_size, dropout, ahead=False)
        steps = spec.input_size + spec.horizon
        self.forward_network = _Convolutions(ahead, hidden, steps, dropout, ahead=True) if ahead else None
        self.compress = OverTime(spec.input_size, hidden)
        self.dropout = Dropout(dropout)
        self.expand = OverTime(hidden, spec.horizon)
        self.output = nn.Linear(hidden * (3 if ahead else 1), spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        covariates = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        states_LND = self.backward_network(read_history(values, covariates))
        if self.forward_network is None:
            return windows_first(self.output(self._to_horizon(states_LND)), self.spec.channels)
        known_TND = self.forward_network(covariates.future.transpose(0, 1))
        before, ahead = known_TND.split([self.spec.input_size, self.spec.horizon])
        states_HND = self._to_horizon(torch.cat([states_LND, before], 2))
        return windows_first(self.output(torch.cat([states_HND, ahead], 2)), self.spec.channels)

    def _to_horizon(self, states_LND: Tensor) -> Tensor:
        states_HND: Tensor = self.expand(self.dropout(functional.gelu(self.compress(states_LND))))
        return states_HND


class _Convolutions(nn.Module):
    """A linear layer and as many convolutions as cover all steps; their skip outputs are summed."""

    def __init__(self, inputs: int, hidden_size: int, steps: int, dropout: float, *, ahead: bool) -> None:
        super().__init__()
        self.inputs = nn.Linear(inputs, hidden_size)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            SkipConvolution(hidden_size, 2, 2**index, dropout, ahead=ahead)
            for index in range(max(1, ceil(log2(steps))))
        )

    def forward(self, values_TNI: Tensor) -> Tensor:
        values = self.dropout(self.inputs(values_TNI))
        result = torch.zeros_like(values)
        for layer in self.layers:
            values, skip = layer(values)
            result = result + skip
        return result
