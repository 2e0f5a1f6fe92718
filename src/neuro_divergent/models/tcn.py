"""TCN: dilated causal convolutions."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from pydantic import PositiveInt
from torch import nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.convolution import ResidualConvolution, causal_stack
from neuro_divergent.models.sequence import SequenceArchitecture


@register("tcn")
class TCN(SequenceArchitecture):
    """Stack of dilated causal convolutions, whose states a linear map over time and a perceptron make the forecast of.

    Bai et al., "An Empirical Evaluation of Generic Convolutional and Recurrent Networks for Sequence Modeling", 2018.
    The defaults and the head are NeuralForecast's, whose layers are single convolutions; ``residual`` makes them the
    blocks of the paper: two convolutions with normalised weights and dropout, and a residual connection.

    Attributes:
        kernel_size: Size of each kernel in steps.
        dilations: Distance between these steps, one number for each layer.
        hidden_size: Width of a state.
        residual: Whether a layer is a residual block instead of a single convolution.
        activation: Activation of the convolutions.
        dropout: Fraction dropped in training after each convolution of a residual block; single ones have none.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        decoder_activation: Activation of the perceptron.

    Examples:
        Layers whose dilation doubles soon see far back:

        >>> import neuro_divergent as nd
        >>> architecture = nd.TCN(kernel_size=2, dilations=(1, 2, 4, 8, 16))
        >>> 1 + (architecture.kernel_size - 1) * sum(architecture.dilations)  # steps that a state is made of
        32
    """

    traits: ClassVar[Traits] = Traits.with_covariates("convolutional", "https://arxiv.org/abs/1803.01271")

    kernel_size: int = knob(2, low=2, high=5, ge=1)
    dilations: tuple[PositiveInt, ...] = knob(
        (1, 2, 4, 8, 16), choices=((1, 2, 4), (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32, 64)), min_length=1
    )
    residual: bool = knob(False, choices=(False, True))
    activation: Activation = "ReLU"
    dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)

    def encoder(self, inputs: int) -> nn.Module:
        if not self.residual:
            return causal_stack(inputs, self.hidden_size, self.kernel_size, self.dilations, self.activation)
        widths = pairwise([inputs] + [self.hidden_size] * len(self.dilations))
        layers = (
            ResidualConvolution(*width, self.kernel_size, dilation, self.activation, self.dropout)
            for width, dilation in zip(widths, self.dilations, strict=True)
        )
        return nn.Sequential(*layers)
