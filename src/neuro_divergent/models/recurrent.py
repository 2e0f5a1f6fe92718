"""Recurrent networks: RNN, LSTM and GRU."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.recurrent import Cell, recurrent_layers
from neuro_divergent.layers.sequence import OverTime, beside_horizon, read_history, windows_first
from neuro_divergent.models.autoregressive import AutoregressiveNetwork
from neuro_divergent.models.base import Architecture


class Recurrent(Architecture):
    """Recurrent encoder whose last states, one for each step of the horizon, a perceptron turns into the forecast.

    A subclass defines the cell. The head is NeuralForecast's: the whole horizon at once, and a linear map over
    time makes more states when the horizon is longer than the history.

    With ``decoding="autoregressive"`` the cells run on through the horizon instead: each step is forecast from the
    state that has read the value before it, and from the covariates of that step. The value before is the forecast one;
    in training it is the target for a fraction of windows and steps, the ``teacher_forcing_ratio`` of the network,
    which is 1 unless training sets it (a missing target is never used). Of several outputs, such as quantiles, the
    point forecast is read on, or a draw where paths are asked for. Covariates that are not known ahead are zero in the
    horizon, which is their mean.

    Attributes:
        hidden_size: Units of the state of a layer.
        num_layers: Recurrent layers.
        dropout: Fraction dropped in training between recurrent layers; there is no between when there is one layer.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        activation: Activation of the perceptron.
        decoding: Whether all steps of the horizon are forecast at once (``direct``) or each from the one before
            (``autoregressive``).
    """

    cell: ClassVar[Cell]

    hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    decoder_hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    decoder_num_layers: int = knob(2, low=1, high=4, ge=1)
    activation: Activation = "ReLU"
    decoding: Literal["direct", "autoregressive"] = knob("direct", choices=("direct", "autoregressive"))

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_settings(cls, values: Any) -> Any:
        """Leave out the cell, which the settings of models named before the class did."""
        if isinstance(values, dict) and values.get("cell", "") == cls.cell:
            return {key: value for key, value in values.items() if key != "cell"}
        return values

    @property
    def is_autoregressive(self) -> bool:
        """Whether a step is forecast from the step before; the traits hold for the default settings."""
        return self.decoding == "autoregressive"

    def network(self, spec: TaskSpec) -> nn.Module:
        covariates = Covariates(spec)
        ahead = covariates.future_size
        inputs = 1 + covariates.past_size + covariates.static_size + ahead
        encoder = recurrent_layers(self.cell, inputs, self.hidden_size, self.num_layers, self.dropout)
        hidden = [self.decoder_hidden_size] * (self.decoder_num_layers - 1)
        decoder = multilayer_perceptron([self.hidden_size + ahead, *hidden, spec.outputs], self.activation)
        kind = AutoregressiveNetwork if self.is_autoregressive else _DirectNetwork
        return kind(spec, covariates, encoder, decoder)


@register("lstm")
class LSTM(Recurrent):
    """Long short-term memory, whose last states a perceptron turns into the forecast.

    Hochreiter and Schmidhuber, "Long Short-Term Memory", Neural Computation, 1997, with the gate that forgets, as in
    torch.

    Examples:
        All steps of the horizon are forecast at once, unless each is to be forecast from the one before:

        >>> import neuro_divergent as nd
        >>> nd.LSTM().is_autoregressive, nd.LSTM(decoding="autoregressive").is_autoregressive
        (False, True)
        >>> network = nd.LSTM(hidden_size=8, num_layers=1).build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> list(network.state_dict()["encoder.weight_hh_l0"].shape)  # three gates and the content, from state to state
        [32, 8]
    """

    traits: ClassVar[Traits] = Traits.with_covariates("recurrent", "https://doi.org/10.1162/neco.1997.9.8.1735")
    cell: ClassVar[Cell] = "lstm"


@register("gru")
class GRU(Recurrent):
    """Gated recurrent units, as many as in NeuralForecast, whose last states a perceptron turns into the forecast.

    Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation", EMNLP
    2014. As in torch, the gate that resets comes after the product with the state.

    Examples:
        Two gates and the content make three quarters of the weights of an LSTM of the same size:

        >>> import neuro_divergent as nd
        >>> network = nd.GRU(hidden_size=8, num_layers=1).build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> list(network.state_dict()["encoder.weight_hh_l0"].shape)
        [24, 8]
    """

    traits: ClassVar[Traits] = Traits.with_covariates("recurrent", "https://arxiv.org/abs/1406.1078")
    cell: ClassVar[Cell] = "gru"

    hidden_size: int = knob(200, low=32, high=512, log=True, ge=1)


@register("rnn")
class RNN(Recurrent):
    """The simplest recurrent cells, whose last states a perceptron turns into the forecast.

    Elman, "Finding Structure in Time", Cognitive Science, 1990, with the hyperbolic tangent.

    Examples:
        Without gates there is a quarter of the weights of an LSTM of the same size:

        >>> import neuro_divergent as nd
        >>> network = nd.RNN(hidden_size=8, num_layers=1).build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> list(network.state_dict()["encoder.weight_hh_l0"].shape)
        [8, 8]
    """

    traits: ClassVar[Traits] = Traits.with_covariates("recurrent", "https://doi.org/10.1207/s15516709cog1402_1")
    cell: ClassVar[Cell] = "rnn"


class _DirectNetwork(nn.Module):
    def __init__(self, spec: TaskSpec, covariates: Covariates, encoder: nn.RNNBase, decoder: nn.Module) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = covariates
        self.encoder = encoder
        self.lengthen = OverTime(spec.input_size, spec.horizon) if spec.horizon > spec.input_size else None
        self.decoder = decoder

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        covariates = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        states, _ = self.encoder(read_history(values, covariates))
        states_HND = states[-self.spec.horizon :] if self.lengthen is None else self.lengthen(states)
        return windows_first(self.decoder(beside_horizon(states_HND, covariates)), self.spec.channels)
