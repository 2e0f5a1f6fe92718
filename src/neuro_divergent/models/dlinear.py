"""DLinear: one linear layer for the trend and one for the rest."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.decomposition import Window, moving_average_matrix
from neuro_divergent.layers.export import has_rows
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("dlinear")
class DLinear(Architecture):
    """Sum of two linear maps from history to horizon, of a moving average and of the remainder.

    Zeng et al., "Are Transformers Effective for Time Series Forecasting?", AAAI 2023. One set of weights serves all
    channels, as in the published runs.

    Attributes:
        kernel_size: Odd number of steps that the moving average covers; it may exceed the history.

    Examples:
        Two linear maps from 48 steps to 12, each with 12 biases:

        >>> import neuro_divergent as nd
        >>> network = nd.DLinear(kernel_size=13).build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> sum(parameter.numel() for parameter in network.parameters())
        1176
    """

    traits: ClassVar[Traits] = Traits(family="linear", paper="https://arxiv.org/abs/2205.13504")

    kernel_size: Window = knob(25, choices=(5, 13, 25, 51))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    averaging: Tensor

    def __init__(self, config: DLinear, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.season = nn.Linear(spec.input_size, spec.horizon * spec.outputs)
        self.trend = nn.Linear(spec.input_size, spec.horizon * spec.outputs)
        averaging = moving_average_matrix(spec.input_size, config.kernel_size)
        self.register_buffer("averaging", averaging, persistent=False)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        forecast = self._forecast(fold_channels(values))
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)

    def _forecast(self, history: Tensor) -> Tensor:
        if not has_rows(history, self.season.out_features):
            trend = history @ self.averaging.T
            forecast: Tensor = self.season(history - trend) + self.trend(trend)
            return forecast
        # The average is linear too: with more rows than outputs it is cheaper to average the weights.
        weight = torch.addmm(self.season.weight, self.trend.weight - self.season.weight, self.averaging)
        return functional.linear(history, weight, self.season.bias + self.trend.bias)
