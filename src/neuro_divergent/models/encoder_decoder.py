"""Base of the transformers with an encoder and a decoder.

The encoder reads the history. The decoder reads its end and as many blanks as the horizon has steps, and turns all
blanks into forecasts at once.

Letters: B batch, L history, S start of the decoder, H horizon, C channel, P outputs per step, N = B * C rows, D hidden.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob
from neuro_divergent.core.spec import Inputs, TaskSpec
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.decoder import Decoder, DecoderLayer, DecompositionDecoder, DecompositionLayer
from neuro_divergent.layers.decomposition import Decomposition, SeasonalNorm
from neuro_divergent.layers.embedding import SequenceEmbedding
from neuro_divergent.layers.encoder import Encoder, EncoderLayer
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.multi_head import MultiHead

Place = Literal["encoder", "decoder", "cross"]


class EncoderDecoder(MultiHead):
    """Sizes of an encoder and a decoder, with the defaults of NeuralForecast.

    A subclass defines the attention. All channels share one set of weights.

    Attributes:
        hidden_size: Width of a token, a multiple of ``num_heads``.
        num_heads: Heads of the attention.
        num_layers: Encoder layers.
        decoder_num_layers: Decoder layers.
        feedforward_size: Hidden units of the perceptron in each layer.
        activation: Activation of that perceptron.
        dropout: Fraction of token features, attention weights and hidden units dropped in training.
        start_share: Fraction of the history, its end, that the decoder reads before the horizon.
    """

    hidden_size: int = knob(128, choices=(64, 128, 256, 512), ge=1)
    num_heads: int = knob(4, choices=(4, 8), ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    decoder_num_layers: int = knob(1, low=1, high=3, ge=1)
    feedforward_size: int = knob(32, low=32, high=2048, log=True, ge=1)
    activation: Activation = "GELU"
    dropout: float = knob(0.05, low=0.0, high=0.5, ge=0.0, lt=1.0)
    start_share: float = knob(0.5, choices=(0.25, 0.5, 1.0), gt=0.0, le=1.0)

    @abstractmethod
    def attention(self, place: Place, queries: int, keys: int) -> nn.Module:
        """Make the attention for a place in the network that gets so many queries and keys."""

    def start(self, spec: TaskSpec) -> int:
        """Return how many steps of the history the decoder reads."""
        return math.ceil(spec.input_size * self.start_share)


class _Network(nn.Module):
    def __init__(self, config: EncoderDecoder, spec: TaskSpec, *, positions: bool) -> None:
        super().__init__()
        self.spec = spec
        self.start = config.start(spec)
        self.read = self.start + spec.horizon
        self.covariates = Covariates(spec)
        embedding = partial(
            SequenceEmbedding, 1, self.covariates.future_size, config.hidden_size, dropout=config.dropout
        )
        self.encoder_embedding = embedding(steps=spec.input_size if positions else 0)
        self.decoder_embedding = embedding(steps=self.read if positions else 0)

    def _tokens(self, inputs: Inputs, history_NL1: Tensor, last_NL1: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens of encoder and decoder; the decoder starts from the end of ``last_NL1``."""
        _, future, _ = self.covariates(None, inputs.future_x, None)
        begun = functional.pad(last_NL1[:, -self.start :], (0, 0, 0, self.spec.horizon))
        return (
            self.encoder_embedding(history_NL1, None if future is None else future[:, : self.spec.input_size]),
            self.decoder_embedding(begun, None if future is None else future[:, -self.read :]),
        )


class SequenceNetwork(_Network):
    """Encoder and decoder after Vaswani et al., with positional encoding and normalisation.

    ``between`` are modules between the encoder layers.
    """

    def __init__(self, config: EncoderDecoder, spec: TaskSpec, between: tuple[nn.Module, ...] = ()) -> None:
        super().__init__(config, spec, positions=True)
        size, steps = config.hidden_size, spec.input_size
        reading = [
            EncoderLayer(size, attention=config.attention("encoder", steps, steps), **_layer(config))
            for _ in range(config.num_layers)
        ]
        forecasting = [
            DecoderLayer(size, **_attention(config, self.read, steps), **_layer(config))
            for _ in range(config.decoder_num_layers)
        ]
        self.encoder = Encoder(reading, nn.LayerNorm(size), between)
        self.decoder = Decoder(forecasting, nn.LayerNorm(size))
        self.projection = nn.Linear(size, spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        history = fold_channels(values)[..., None]
        past, begun = self._tokens(inputs, history, history)
        tokens_NHD = self.decoder(begun, self.encoder(past))[:, -self.spec.horizon :]
        return unfold_channels(self.projection(tokens_NHD), self.spec.channels, self.spec.horizon)


class DecompositionNetwork(_Network):
    """Encoder and decoder after Autoformer, which work on the season and hand the trend to the forecast."""

    def __init__(self, config: EncoderDecoder, spec: TaskSpec, kernel_size: int) -> None:
        super().__init__(config, spec, positions=False)
        size, steps = config.hidden_size, spec.input_size
        self.decomposition = Decomposition(steps, kernel_size)
        over_all = Decomposition(self.read, kernel_size)
        encode = partial(EncoderLayer, size, norm=lambda: self.decomposition, bias=False, **_layer(config))
        reading = [encode(attention=config.attention("encoder", steps, steps)) for _ in range(config.num_layers)]
        decode = partial(DecompositionLayer, size, spec.outputs, decomposition=over_all, **_layer(config))
        forecasting = [decode(**_attention(config, self.read, steps)) for _ in range(config.decoder_num_layers)]
        self.encoder = Encoder(reading, SeasonalNorm(size))
        self.decoder = DecompositionDecoder(forecasting, SeasonalNorm(size))
        self.projection = nn.Linear(size, spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        history = fold_channels(values)[..., None]
        past, begun = self._tokens(inputs, history, self.decomposition(history))
        tokens, trend = self.decoder(begun, self.encoder(past))
        ahead = slice(-self.spec.horizon, None)
        forecast = self.projection(tokens[:, ahead]) + trend[:, ahead] + history.mean(1, keepdim=True)
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)


def _layer(config: EncoderDecoder) -> dict[str, Any]:
    return {"feedforward_size": config.feedforward_size, "activation": config.activation, "dropout": config.dropout}


def _attention(config: EncoderDecoder, queries: int, keys: int) -> dict[str, Any]:
    return {
        "self_attention": config.attention("decoder", queries, queries),
        "cross_attention": config.attention("cross", queries, keys),
    }
