"""DeepAR: a recurrent network that forecasts the distribution of each step from the value before."""

from __future__ import annotations

from typing import ClassVar

from torch import nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.recurrent import recurrent_layers
from neuro_divergent.models.autoregressive import AutoregressiveNetwork
from neuro_divergent.models.base import Architecture


@register("deepar")
class DeepAR(Architecture):
    """Long short-term memory over the value before and the covariates of a step, and a linear layer to its outputs.

    Salinas et al., "DeepAR: Probabilistic Forecasting with Autoregressive Recurrent Networks", International Journal of
    Forecasting 2020, with the sizes of NeuralForecast. The loss defines the meaning of the outputs, such as parameters
    of a distribution.

    Deviations: the loss counts the horizon alone, not the history too. Paths are drawn when quantiles or simulations
    are asked for; else the point forecast of each step is read on. Covariates that are not known ahead are read too,
    with the value of their step, and are zero in the horizon.

    Attributes:
        hidden_size: Units of the state of a layer.
        num_layers: Recurrent layers.
        dropout: Fraction dropped in training between recurrent layers.
        decoder_hidden_size: Units of the hidden layers before the outputs.
        decoder_num_layers: Linear layers from state to outputs, the output included; 1 as in the paper.
        activation: Activation of those hidden layers.

    Examples:
        Three numbers for each step, which the loss reads as degrees of freedom, location and spread:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> spec = nd.models.TaskSpec(horizon=4, input_size=16, outputs=nd.losses.StudentT().outputs)
        >>> network = nd.DeepAR(hidden_size=16).build(spec)
        >>> network(nd.models.Batch(torch.zeros(2, 16, 1))).shape
        torch.Size([2, 4, 1, 3])
    """

    traits: ClassVar[Traits] = Traits.with_covariates(
        "recurrent", "https://arxiv.org/abs/1704.04110", autoregressive=True
    )

    hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    decoder_hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    decoder_num_layers: int = knob(1, low=1, high=3, ge=1)
    activation: Activation = "ReLU"

    def network(self, spec: TaskSpec) -> nn.Module:
        covariates = Covariates(spec)
        inputs = 1 + covariates.past_size + covariates.static_size + covariates.future_size
        encoder = recurrent_layers("lstm", inputs, self.hidden_size, self.num_layers, self.dropout)
        hidden = [self.decoder_hidden_size] * (self.decoder_num_layers - 1)
        decoder = multilayer_perceptron([self.hidden_size, *hidden, spec.outputs], self.activation)
        return AutoregressiveNetwork(spec, covariates, encoder, decoder, decodes_ahead=False)
