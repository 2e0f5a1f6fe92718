"""Base of the architectures that encode a history step by step and decode the horizon at once."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor, nn

from neuro_divergent.core.config import knob
from neuro_divergent.core.spec import Inputs, TaskSpec
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.sequence import OverTime, beside_horizon, read_history, windows_first
from neuro_divergent.models.base import Architecture


class SequenceArchitecture(Architecture):
    """An encoder of sequences, a linear map of its states from history to horizon, and a perceptron for each step.

    The head is NeuralForecast's. A subclass declares the encoder.

    Attributes:
        hidden_size: Width of the states that the encoder returns.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        decoder_activation: Activation of the perceptron.
    """

    hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    decoder_hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    decoder_num_layers: int = knob(2, low=1, high=4, ge=1)
    decoder_activation: Activation = "ReLU"

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)

    @abstractmethod
    def encoder(self, inputs: int) -> nn.Module:
        """Return a module that turns ``(time, row, inputs)`` into states ``(time, row, hidden_size)``."""


class _Network(nn.Module):
    def __init__(self, config: SequenceArchitecture, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        ahead = self.covariates.future_size
        self.encoder = config.encoder(1 + self.covariates.past_size + self.covariates.static_size + ahead)
        self.to_horizon = OverTime(spec.input_size, spec.horizon)
        hidden = [config.decoder_hidden_size] * (config.decoder_num_layers - 1)
        sizes = [config.hidden_size + ahead, *hidden, spec.outputs]
        self.decoder = multilayer_perceptron(sizes, config.decoder_activation)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        covariates = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        states_HND = self.to_horizon(self.encoder(read_history(values, covariates)))
        return windows_first(self.decoder(beside_horizon(states_HND, covariates)), self.spec.channels)
