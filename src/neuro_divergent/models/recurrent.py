"""Recurrent networks: RNN, LSTM and GRU."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Batch, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.models.base import Architecture


@register("recurrent")
class Recurrent(Architecture):
    """Recurrent encoder whose last states, one for each step of the horizon, a perceptron turns into the forecast.

    Elman, "Finding Structure in Time", 1990 (``rnn``); Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997
    (``lstm``); Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014 (``gru``). The head is
    NeuralForecast's: the whole horizon at once, and a linear map over time makes more states when the horizon is longer
    than the history.

    Attributes:
        cell: Kind of cell: ``rnn``, ``lstm`` or ``gru``.
        hidden_size: Units of the state of a layer.
        num_layers: Recurrent layers.
        dropout: Share left out in training between recurrent layers; there is no between when there is one layer.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        activation: Activation of the perceptron.
    """

    traits: ClassVar[Traits] = Traits(
        family="recurrent",
        past_x=True,
        future_x=True,
        static_x=True,
        paper="https://doi.org/10.1162/neco.1997.9.8.1735",
    )

    cell: Literal["rnn", "lstm", "gru"] = knob("lstm", choices=("rnn", "lstm", "gru"))
    hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    decoder_hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    decoder_num_layers: int = knob(2, low=1, high=4, ge=1)
    activation: Activation = "ReLU"

    def network(self, spec: TaskSpec) -> nn.Module:
        """Make the network."""
        return _Network(self, spec)


@register("lstm")
class LSTM(Recurrent):
    """``Recurrent`` with long short-term memory."""

    cell: Literal["lstm"] = "lstm"


@register("gru")
class GRU(Recurrent):
    """``Recurrent`` with gated recurrent units, as many as in NeuralForecast."""

    cell: Literal["gru"] = "gru"
    hidden_size: int = knob(200, low=32, high=512, log=True, ge=1)


@register("rnn")
class RNN(Recurrent):
    """``Recurrent`` with the simplest cell."""

    cell: Literal["rnn"] = "rnn"


class _Network(nn.Module):
    def __init__(self, config: Recurrent, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        extra = self.covariates.past_size + self.covariates.static_size + self.covariates.future_size
        kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[config.cell]
        # Time comes first: the layers work step by step, and the last steps are then one piece of memory.
        self.encoder = kind(
            1 + extra,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout if config.num_layers > 1 else 0.0,
        )
        self.lengthen = nn.Linear(spec.input_size, spec.horizon) if spec.horizon > spec.input_size else None
        hidden = [config.decoder_hidden_size] * (config.decoder_num_layers - 1)
        self.decoder = multilayer_perceptron(
            [config.hidden_size + self.covariates.future_size, *hidden, spec.outputs], config.activation
        )

    def forward(self, batch: Batch) -> Tensor:
        values, _ = observed(batch.past_y, batch.past_mask)
        size, steps, channels = values.shape
        past, future, static = self.covariates(batch.past_x, batch.future_x, batch.static_x)
        parts = [values.transpose(0, 1).reshape(steps, size * channels, 1)]
        parts += [] if past is None else [past.transpose(0, 1)]
        parts += [] if static is None else [static.expand(steps, -1, -1)]
        parts += [] if future is None else [future[:, :steps].transpose(0, 1)]
        states, _ = self.encoder(torch.cat(parts, 2) if len(parts) > 1 else parts[0])
        states = self._for_horizon(states)
        if future is not None:
            states = torch.cat([states, future[:, steps:].transpose(0, 1)], 2)
        forecast: Tensor = self.decoder(states)
        return forecast.view(self.spec.horizon, size, channels, -1).transpose(0, 1)

    def _for_horizon(self, states: Tensor) -> Tensor:
        """Return one state for each step of the horizon, ``(horizon, row, hidden)``."""
        if self.lengthen is None:
            return states[-self.spec.horizon :]
        more = torch.addmm(self.lengthen.bias[:, None], self.lengthen.weight, states.flatten(1))
        return more.view(self.spec.horizon, *states.shape[1:])
