"""NLinear: one linear layer on the distance to the last value."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from neuro_divergent.core.config import register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("nlinear")
class NLinear(Architecture):
    """Linear map from history to horizon after subtracting the last value, which is added back.

    Zeng et al., "Are Transformers Effective for Time Series Forecasting?", AAAI 2023. One set of weights serves all
    channels, as in the published runs. The last value is added to every output of a step.

    Examples:
        Even before training a history that lies 100 higher has a forecast that lies 100 higher:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = nd.NLinear().build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> history = torch.rand(1, 48, 1)
        >>> low, high = network(nd.models.Inputs(history)), network(nd.models.Inputs(history + 100))
        >>> torch.allclose(high, low + 100)
        True
    """

    traits: ClassVar[Traits] = Traits(family="linear", paper="https://arxiv.org/abs/2205.13504")

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(spec)


class _Network(nn.Module):
    def __init__(self, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.linear = nn.Linear(spec.input_size, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        history = fold_channels(values)
        last = history[:, -1:]
        forecast = self.linear(history - last) + last
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)
