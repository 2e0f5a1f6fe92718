"""XLinear: gates over time and over channels, connected by a token of each channel."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.revin import Standardisation
from neuro_divergent.models.base import Architecture


@register("xlinear")
class XLinear(Architecture):
    """Gates each channel's embedding over time, and a learned token of it over the channels, before a linear head.

    Chen et al., "XLinear: A Lightweight and Accurate MLP-Based Model for Long-Term Time Series Forecasting with
    Exogenous Inputs", 2026, in NeuralForecast's form: all channels are forecast, and covariates go to the head
    through a linear map each. The channels of a window share their covariates here.

    Attributes:
        hidden_size: Width of the embedding of a channel, and of its token.
        temporal_size: Hidden units of the gate over time.
        channel_size: Hidden units of the gate over channels; the paper likes a multiple of the channels.
        temporal_dropout: Fraction of the hidden units of the gate over time dropped in training.
        channel_dropout: Fraction of the hidden units of the gate over channels dropped in training.
        embedding_dropout: Fraction of the embedding dropped in training.
        head_dropout: Fraction of the inputs of the head dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.

    Examples:
        The forecast of a series also depends on the histories of the others:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = nd.XLinear(hidden_size=32).build(nd.models.TaskSpec(horizon=12, input_size=48, channels=2)).eval()
        >>> history = torch.rand(1, 48, 2)
        >>> changed = torch.cat([history[:, :, :1], history[:, :, 1:].flip(1)], 2)  # the second series backwards
        >>> forecast, other = (network(nd.models.Inputs(item))[:, :, 0] for item in (history, changed))
        >>> torch.equal(forecast, other)
        False
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2601.09237", mixes_channels=True)

    hidden_size: int = knob(128, low=32, high=512, log=True, ge=1)
    temporal_size: int = knob(256, low=64, high=1024, log=True, ge=1)
    channel_size: int = knob(8, low=2, high=64, log=True, ge=1)
    temporal_dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    channel_dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    embedding_dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    head_dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    use_norm: bool = True

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: XLinear, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.use_norm = config.use_norm
        self.covariates = covariates = Covariates(replace(spec, channels=1))
        hidden, history = config.hidden_size, spec.input_size
        self.embedding = nn.Sequential(nn.Linear(history, hidden), Dropout(config.embedding_dropout))
        self.token = nn.Parameter(torch.randn(spec.channels, hidden))
        self.temporal_gate = _Gate(2 * hidden, config.temporal_size, config.temporal_dropout)
        self.channel_gate = _Gate(2 * spec.channels, config.channel_size, config.channel_dropout)
        ahead = (history + spec.horizon) * covariates.future_size
        sizes = (history * covariates.past_size, ahead, covariates.static_size)
        self.projections = nn.ModuleList(nn.Linear(size, hidden) for size in sizes if size)
        linear = nn.Linear((2 + len(self.projections)) * hidden, spec.horizon * spec.outputs)
        self.head = nn.Sequential(Dropout(config.head_dropout), linear)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        known = [item.flatten(1) for item in encoded if item is not None]
        if not self.use_norm:
            return self._forecast(values, known)
        measured = Standardisation.of(values, mask)
        return measured.restore(self._forecast(measured.remove(values), known))

    def _forecast(self, values_BLC: Tensor, known: list[Tensor]) -> Tensor:
        embedded_BCD = self.embedding(values_BLC.transpose(1, 2))
        both = torch.cat([embedded_BCD, self.token.expand_as(embedded_BCD)], 2)
        within, token_BCD = self.temporal_gate(both).chunk(2, 2)
        across = torch.cat([embedded_BCD, token_BCD], 1).transpose(1, 2)
        token_BDC = self.channel_gate(across).chunk(2, 2)[1]
        parts = [within, token_BDC.transpose(1, 2)]
        for item, projection in zip(known, self.projections, strict=True):
            parts.append(projection(item)[:, None].expand_as(embedded_BCD))
        forecast: Tensor = self.head(torch.cat(parts, 2))
        return forecast.view(values_BLC.shape[0], -1, self.spec.horizon, self.spec.outputs).transpose(1, 2)


class _Gate(nn.Module):
    """Scales each value by a gate between 0 and 1, computed by a perceptron from all of them."""

    def __init__(self, size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.perceptron = multilayer_perceptron((size, hidden_size, size), "ReLU", dropout)

    def forward(self, values: Tensor) -> Tensor:
        result: Tensor = values * self.perceptron(values).sigmoid()
        return result
