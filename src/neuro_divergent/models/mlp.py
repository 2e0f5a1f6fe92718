"""MLP: a multilayer perceptron from everything known to the whole horizon."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.known import join_known, known_size
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.models.base import Architecture


@register("mlp")
class MLP(Architecture):
    """Hidden layers of one width from the flattened history and covariates to all steps of the horizon at once.

    Rosenblatt, "Principles of Neurodynamics", 1961, in the form that NeuralForecast gives it. Dropout, normalisation
    and the choice of activation are additions; their defaults change nothing.

    Attributes:
        hidden_size: Units per hidden layer.
        num_layers: Hidden layers.
        activation: Activation after each hidden layer.
        dropout: Fraction of hidden units dropped in training.
        norm: Normalisation before each activation: none, over the ``batch``, or over the ``layer``.

    Examples:
        From 48 values to 64 units, to 64 units, to 12 values:

        >>> import neuro_divergent as nd
        >>> network = nd.MLP(hidden_size=64, num_layers=2).build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> [list(parameter.shape) for parameter in network.parameters() if parameter.ndim == 2]
        [[64, 48], [64, 64], [12, 64]]
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://doi.org/10.21236/AD0256582")

    hidden_size: int = knob(1024, low=64, high=1024, log=True, ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    activation: Activation = "ReLU"
    dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    norm: Literal["none", "batch", "layer"] = knob("none", choices=("none", "batch", "layer"))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: MLP, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        known = known_size(spec.input_size, spec, self.covariates)
        sizes = [known, *[config.hidden_size] * config.num_layers, spec.horizon * spec.outputs]
        self.layers = multilayer_perceptron(sizes, config.activation, config.dropout, config.norm)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        forecast = self.layers(join_known(fold_channels(values), encoded))
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)
