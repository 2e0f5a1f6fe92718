"""MLPMultivariate: a multilayer perceptron that reads and forecasts all channels at once."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import ClassVar

from torch import Tensor, nn

from neuro_divergent.core.config import register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.known import join_known, known_size
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.models.mlp import MLP


@register("mlpmultivariate")
class MLPMultivariate(MLP):
    """``MLP`` from the flattened histories of all channels to all their forecasts.

    Rosenblatt, "Principles of Neurodynamics", 1961, in the form that NeuralForecast gives it. The channels of a window
    share their covariates here; NeuralForecast has a copy for each channel, and so more parameters when there are both
    covariates and several channels.

    Examples:
        The first layer reads the histories of all three series, and the last one forecasts all of them:

        >>> import neuro_divergent as nd
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48, channels=3)
        >>> network = nd.MLPMultivariate(hidden_size=64, num_layers=1).build(spec)
        >>> [list(parameter.shape) for parameter in network.parameters() if parameter.ndim == 2]
        [[64, 144], [36, 64]]
    """

    traits: ClassVar[Traits] = replace(MLP.traits, mixes_channels=True)

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: MLPMultivariate, spec: TaskSpec) -> None:
        super().__init__()
        self.shape = (spec.horizon, spec.channels, spec.outputs)
        self.covariates = Covariates(replace(spec, channels=1))
        known = known_size(spec.input_size * spec.channels, spec, self.covariates)
        sizes = [known, *[config.hidden_size] * config.num_layers, prod(self.shape)]
        self.layers = multilayer_perceptron(sizes, config.activation, config.dropout, config.norm)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        forecast: Tensor = self.layers(join_known(values.flatten(1), encoded))
        return forecast.view(-1, *self.shape)
