"""TimeXer: patches of each series, and a global token that attends to all other series."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.attention import Attention
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import CovariateEncoder
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.embedding import PositionalEmbedding
from neuro_divergent.layers.encoder import EncoderLayer
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.patching import cut_side_by_side
from neuro_divergent.layers.revin import Standardisation
from neuro_divergent.models.multi_head import MultiHead


@register("timexer")
class TimeXer(MultiHead):
    """Transformer over patches of each channel whose global token reads all channels and covariates as whole series.

    Wang et al., "TimeXer: Empowering Transformers for Time Series Forecasting with Exogenous Variables", NeurIPS 2024,
    with the sizes of NeuralForecast. Every channel is forecast, and is at the same time a variable for the others. Past
    covariates are read as further whole series, static ones as series that never change.

    Deviations: a history that is no multiple of the patches is filled up at its start, where the authors' code leaves
    out its end; dropout comes before the head instead of setting forecasts to zero after it; level and spread of a
    history are those of its observed values.

    Attributes:
        patch_length: Steps per patch; at most the history.
        hidden_size: Width of a token, a multiple of ``num_heads``.
        num_heads: Heads of both attentions.
        num_layers: Encoder layers.
        feedforward_size: Hidden units of the perceptron in each layer.
        activation: Activation of that perceptron.
        dropout: Fraction of token features, attention weights and hidden units dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.

    Examples:
        Three patches of 16 steps are the tokens of a series; the number of visitors is read as one more series:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48, channels=2, past=(nd.models.Feature("visitors"),))
        >>> network = nd.TimeXer(patch_length=16, hidden_size=32, num_heads=4, feedforward_size=64).build(spec)
        >>> network(nd.models.Inputs(torch.rand(1, 48, 2), past_x=torch.rand(1, 48, 1))).shape
        torch.Size([1, 12, 2, 1])
    """

    traits: ClassVar[Traits] = Traits(
        family="transformer", past_x=True, static_x=True, mixes_channels=True, paper="https://arxiv.org/abs/2402.19072"
    )

    patch_length: int = knob(16, choices=(8, 16, 24), ge=1)
    hidden_size: int = knob(512, choices=(64, 128, 256, 512), ge=1)
    num_heads: int = knob(8, choices=(4, 8), ge=1)
    num_layers: int = knob(2, low=1, high=3, ge=1)
    feedforward_size: int = knob(2048, low=64, high=2048, log=True, ge=1)
    activation: Activation = "ReLU"
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    use_norm: bool = True

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: TimeXer, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.use_norm = config.use_norm
        self.length = min(config.patch_length, spec.input_size)
        patches = -(-spec.input_size // self.length)
        self.past, self.static = CovariateEncoder(spec.past), CovariateEncoder(spec.static)
        self.patch_embedding = nn.Linear(self.length, config.hidden_size, bias=False)
        self.position = PositionalEmbedding(patches, config.hidden_size)
        self.token = nn.Parameter(torch.randn(spec.channels, 1, config.hidden_size))
        self.series_embedding = nn.Linear(spec.input_size, config.hidden_size)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.hidden_size)
        self.head = nn.Linear((patches + 1) * config.hidden_size, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        past, static = self.past(inputs.past_x), self.static(inputs.static_x)
        if not self.use_norm:
            return self._forecast(values, past, static)
        window = Standardisation.of(values, mask)
        return window.restore(self._forecast(window.remove(values), past, static))

    def _forecast(self, values_BLC: Tensor, past_BLE: Tensor | None, static_BE: Tensor | None) -> Tensor:
        others = [values_BLC.transpose(1, 2)]
        others += [] if past_BLE is None else [past_BLE.transpose(1, 2)]
        others += [] if static_BE is None else [static_BE[..., None].expand(-1, -1, self.spec.input_size)]
        others_BVD = self.dropout(self.series_embedding(torch.cat(others, 1)))
        patches = self.position(self.patch_embedding(cut_side_by_side(fold_channels(values_BLC), self.length)))
        tokens_NKD = self.dropout(torch.cat([patches, self.token.repeat(values_BLC.shape[0], 1, 1)], 1))
        for layer in self.layers:
            tokens_NKD = layer(tokens_NKD, others_BVD)
        forecast = self.head(self.dropout(self.norm(tokens_NKD).flatten(1)))
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)


class _Layer(EncoderLayer):
    """Encoder layer in which, between attention and perceptron, the last token of a row attends to the other series."""

    def __init__(self, config: TimeXer) -> None:
        super().__init__(
            config.hidden_size,
            num_heads=config.num_heads,
            feedforward_size=config.feedforward_size,
            activation=config.activation,
            dropout=config.dropout,
        )
        self.cross_attention = Attention(config.hidden_size, config.num_heads, config.dropout)
        self.cross_norm = nn.LayerNorm(config.hidden_size)

    def forward(self, tokens_NKD: Tensor, others_BVD: Tensor) -> Tensor:  # type: ignore[override]
        tokens = self.attention_norm(tokens_NKD + self.dropout(self.attention(tokens_NKD)))
        token_BCD = tokens[:, -1].unflatten(0, (others_BVD.shape[0], -1))
        seen = self.dropout(self.cross_attention(token_BCD, others_BVD, others_BVD))
        token = self.cross_norm(token_BCD + seen).flatten(0, 1)[:, None]
        tokens = torch.cat([tokens[:, :-1], token], 1)
        result: Tensor = self.feedforward_norm(tokens + self.dropout(self.feedforward(tokens)))
        return result
