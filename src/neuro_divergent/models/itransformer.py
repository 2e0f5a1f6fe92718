"""iTransformer: attention between series instead of between steps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.encoder import EncoderLayer
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.normalization import Normalization
from neuro_divergent.layers.revin import Standardisation
from neuro_divergent.layers.stochastic_depth import growing_rates
from neuro_divergent.models.multi_head import MultiHead


@register("itransformer")
class ITransformer(MultiHead):
    """Transformer whose tokens are the whole histories of the channels, and of the covariates that are known ahead.

    Liu et al., "iTransformer: Inverted Transformers Are Effective for Time Series Forecasting", ICLR 2024. The query,
    key and value projections are one matrix, and the level and spread of a history are those of its observed values;
    neither changes anything when all is observed. A covariate that is known ahead, or a number of a category's
    embedding, is one more token, over history and horizon; NeuralForecast has one for each channel.

    Attributes:
        hidden_size: Width of a token, a multiple of ``num_heads``.
        num_heads: Heads of the attention.
        num_layers: Encoder layers.
        feedforward_size: Hidden units of the perceptron in each layer.
        activation: Activation of that perceptron.
        dropout: Fraction of token features, attention weights and hidden units dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.
        norm: Normalisation inside the encoder layers, over each token (``layer``) or over the tokens of a ``batch``.
        stochastic_depth: Fraction of windows that skip a branch of the last encoder layer in training; earlier layers
            are skipped less, in proportion to their depth.

    Examples:
        Series are tokens without a place, so their order does not matter:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> architecture = nd.ITransformer(hidden_size=32, num_heads=4, feedforward_size=64)
        >>> network = architecture.build(nd.models.TaskSpec(horizon=12, input_size=48, channels=3)).eval()
        >>> history = torch.rand(1, 48, 3)
        >>> forecast, swapped = network(nd.models.Inputs(history)), network(nd.models.Inputs(history.flip(2)))
        >>> torch.allclose(swapped, forecast.flip(2), atol=1e-5)
        True
    """

    traits: ClassVar[Traits] = Traits(
        family="transformer", future_x=True, mixes_channels=True, paper="https://arxiv.org/abs/2310.06625"
    )

    hidden_size: int = knob(512, choices=(64, 128, 256, 512), ge=1)
    num_heads: int = knob(8, choices=(4, 8), ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    feedforward_size: int = knob(2048, low=64, high=2048, log=True, ge=1)
    activation: Activation = "GELU"
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    use_norm: bool = True
    norm: Normalization = knob("layer", choices=("layer", "batch"))
    stochastic_depth: float = knob(0.0, low=0.0, high=0.3, ge=0.0, lt=1.0)

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: ITransformer, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.use_norm = config.use_norm
        self.covariates = Covariates(replace(spec, channels=1))
        self.embedding = nn.Linear(spec.input_size, config.hidden_size)
        self.future_embedding = (
            nn.Linear(spec.input_size + spec.horizon, config.hidden_size) if self.covariates.future_size else None
        )
        self.dropout = Dropout(config.dropout)
        layer = partial(
            EncoderLayer,
            config.hidden_size,
            num_heads=config.num_heads,
            feedforward_size=config.feedforward_size,
            activation=config.activation,
            dropout=config.dropout,
            norm=config.norm,
        )
        rates = growing_rates(config.stochastic_depth, config.num_layers)
        self.layers = nn.Sequential(*(layer(stochastic_depth=rate) for rate in rates))
        self.norm = nn.LayerNorm(config.hidden_size)
        self.projection = nn.Linear(config.hidden_size, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        _, future, _ = self.covariates(None, inputs.future_x, None)
        if not self.use_norm:
            return self._forecast(values, future)
        window = Standardisation.of(values, mask)
        return window.restore(self._forecast(window.remove(values), future))

    def _forecast(self, values_BLC: Tensor, future_BTE: Tensor | None) -> Tensor:
        tokens = self.embedding(values_BLC.transpose(1, 2))
        if future_BTE is not None and self.future_embedding is not None:
            tokens = torch.cat([tokens, self.future_embedding(future_BTE.transpose(1, 2))], 1)
        encoded = self.norm(self.layers(self.dropout(tokens))[:, : values_BLC.shape[2]])
        forecast: Tensor = self.projection(encoded)
        return forecast.view(values_BLC.shape[0], -1, self.spec.horizon, self.spec.outputs).transpose(1, 2)
