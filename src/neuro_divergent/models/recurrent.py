"""Recurrent networks: RNN, LSTM and GRU."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

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

    With ``decoding="autoregressive"`` the cells run on through the horizon instead: each step is forecast from the
    state that has read the value before it, and from the covariates of that step. The value before is the forecast one;
    in training it is the true one for a share of windows and steps, the ``teacher_forcing_ratio`` of the network, which
    is 1 unless training sets it (a missing target is never used). Of several outputs, such as quantiles, the middle one
    is read on. Covariates that are not known ahead are zero in the horizon, which is their mean.

    Attributes:
        cell: Kind of cell: ``rnn``, ``lstm`` or ``gru``.
        hidden_size: Units of the state of a layer.
        num_layers: Recurrent layers.
        dropout: Share left out in training between recurrent layers; there is no between when there is one layer.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        activation: Activation of the perceptron.
        decoding: Whether all steps of the horizon are forecast at once (``direct``) or each from the one before
            (``autoregressive``).
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
    decoding: Literal["direct", "autoregressive"] = knob("direct", choices=("direct", "autoregressive"))

    @property
    def is_autoregressive(self) -> bool:
        """Whether a step is forecast from the step before; the traits tell it for the default settings."""
        return self.decoding == "autoregressive"

    def network(self, spec: TaskSpec) -> nn.Module:
        """Make the network."""
        return _AutoregressiveNetwork(self, spec) if self.is_autoregressive else _DirectNetwork(self, spec)


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
        needs_more = spec.horizon > spec.input_size and not config.is_autoregressive
        self.lengthen = nn.Linear(spec.input_size, spec.horizon) if needs_more else None
        hidden = [config.decoder_hidden_size] * (config.decoder_num_layers - 1)
        self.decoder = multilayer_perceptron(
            [config.hidden_size + self.covariates.future_size, *hidden, spec.outputs], config.activation
        )

    def _decode(self, states: Tensor, future: Tensor | None) -> Tensor:
        """Return the forecasts ``(step, row, outputs)`` for states and future covariates of the same steps."""
        forecast: Tensor = self.decoder(states if future is None else torch.cat([states, future], 2))
        return forecast


class _DirectNetwork(_Network):
    def forward(self, batch: Batch) -> Tensor:
        values, _ = observed(batch.past_y, batch.past_mask)
        size, steps, channels = values.shape
        past, future, static = self.covariates(batch.past_x, batch.future_x, batch.static_x)
        parts = [_rows(values)]
        parts += [] if past is None else [past.transpose(0, 1)]
        parts += [] if static is None else [static.expand(steps, -1, -1)]
        parts += [] if future is None else [future[:, :steps].transpose(0, 1)]
        states, _ = self.encoder(_join(parts))
        forecast = self._decode(
            self._for_horizon(states), None if future is None else future[:, steps:].transpose(0, 1)
        )
        return forecast.view(self.spec.horizon, size, channels, -1).transpose(0, 1)

    def _for_horizon(self, states: Tensor) -> Tensor:
        """Return one state for each step of the horizon, ``(horizon, row, hidden)``."""
        if self.lengthen is None:
            return states[-self.spec.horizon :]
        more = torch.addmm(self.lengthen.bias[:, None], self.lengthen.weight, states.flatten(1))
        return more.view(self.spec.horizon, *states.shape[1:])


class _AutoregressiveNetwork(_Network):
    teacher_forcing_ratio: float = 1.0

    def forward(self, batch: Batch) -> Tensor:
        values, _ = observed(batch.past_y, batch.past_mask)
        size, steps, channels = values.shape
        known, ahead = self._known(batch)
        forcing = self.training and self.teacher_forcing_ratio > 0 and batch.future_y is not None
        if forcing and self._knows_all(batch):
            assert batch.future_y is not None
            read = _rows(torch.cat([values, batch.future_y[:, :-1]], 1))
            states, _ = self.encoder(_join([read, *known]))
            forecast = self._decode(states[steps - 1 :], ahead)
        else:
            states, memory = self.encoder(_join([_rows(values), *(item[:steps] for item in known)]))
            later = [item[steps:] for item in known]
            forecast = self._step_by_step(states[-1:], memory, later, ahead, self._teacher(batch) if forcing else None)
        return forecast.view(self.spec.horizon, size, channels, -1).transpose(0, 1)

    def _known(self, batch: Batch) -> tuple[list[Tensor], Tensor | None]:
        """Return what is read next to the values, up to the last step but one, and the covariates of the horizon."""
        past, future, static = self.covariates(batch.past_x, batch.future_x, batch.static_x)
        more = self.spec.horizon - 1
        steps = self.spec.input_size + more
        known = [] if past is None else [functional.pad(past, (0, 0, 0, more)).transpose(0, 1)]
        known += [] if static is None else [static.expand(steps, -1, -1)]
        known += [] if future is None else [future[:, :steps].transpose(0, 1)]
        return known, None if future is None else future[:, self.spec.input_size :].transpose(0, 1)

    def _knows_all(self, batch: Batch) -> bool:
        """Whether the true value is read at each step; all steps can then be worked out in one go."""
        # Asking the device costs less than as many calls of the cells as the horizon has steps.
        return self.teacher_forcing_ratio >= 1 and (batch.future_mask is None or bool(batch.future_mask[:, :-1].all()))

    def _teacher(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the true values ``(horizon, row, 1)`` and which of them are shown, drawn for each window and step."""
        assert batch.future_y is not None
        size, steps, _ = batch.future_y.shape
        shown = torch.rand(size, steps, 1, device=batch.future_y.device) < self.teacher_forcing_ratio
        shown = shown.expand_as(batch.future_y)
        shown = shown if batch.future_mask is None else shown & (batch.future_mask > 0)
        return _rows(batch.future_y), _rows(shown)

    def _step_by_step(
        self,
        state: Tensor,
        memory: Any,
        known: list[Tensor],
        ahead: Tensor | None,
        teacher: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """Return the forecasts ``(horizon, row, outputs)``.

        Args:
            state: State after the history, ``(1, row, hidden)``.
            memory: What the cells remember of it.
            known: What is read next to the values, from the first step of the horizon on.
            ahead: Covariates of the horizon.
            teacher: True values and which of them are shown.
        """
        middle = (self.spec.outputs - 1) // 2
        forecasts: list[Tensor] = []
        for step in range(self.spec.horizon):
            now, before = slice(step, step + 1), slice(step - 1, step)
            if step:
                value = forecasts[-1][..., middle : middle + 1]
                if teacher is not None:
                    truth, shown = teacher
                    value = truth[before].where(shown[before], value)
                state, memory = self.encoder(_join([value, *(item[before] for item in known)]), memory)
            forecasts.append(self._decode(state, None if ahead is None else ahead[now]))
        return torch.cat(forecasts)


def _rows(values_BTC: Tensor) -> Tensor:
    """Return ``(time, row, 1)``, a row for each channel of each window."""
    size, steps, channels = values_BTC.shape
    return values_BTC.transpose(0, 1).reshape(steps, size * channels, 1)


def _join(parts: list[Tensor]) -> Tensor:
    """Put what is read at each step side by side; a single part is not copied."""
    return torch.cat(parts, 2) if len(parts) > 1 else parts[0]
