"""The layers that transformers forecast with, and their stack."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.decomposition import Decomposition
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.embedding import CircularConvolution
from neuro_divergent.layers.encoder import feedforward


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and a perceptron, each with a residual connection and post-normalisation.

    Vaswani et al., "Attention Is All You Need", NeurIPS 2017.

    Args:
        cross_attention: Attention to the encoded tokens.
        dropout: Fraction dropped in training, of hidden units and residual branches.
    """

    def __init__(
        self,
        hidden_size: int,
        *,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feedforward_size: int,
        activation: Activation,
        dropout: float,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_norm = nn.LayerNorm(hidden_size)
        self.cross_attention = cross_attention
        self.cross_norm = nn.LayerNorm(hidden_size)
        self.feedforward = feedforward(hidden_size, feedforward_size, activation, dropout)
        self.feedforward_norm = nn.LayerNorm(hidden_size)
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, encoded: Tensor) -> Tensor:
        tokens = self.self_norm(tokens + self.dropout(self.self_attention(tokens, tokens, tokens)))
        tokens = self.cross_norm(tokens + self.dropout(self.cross_attention(tokens, encoded, encoded)))
        result: Tensor = self.feedforward_norm(tokens + self.dropout(self.feedforward(tokens)))
        return result


class Decoder(nn.Module):
    """Decoder layers one after the other, then a norm."""

    def __init__(self, layers: Sequence[nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, tokens: Tensor, encoded: Tensor) -> Tensor:
        for layer in self.layers:
            tokens = layer(tokens, encoded)
        result: Tensor = self.norm(tokens)
        return result


class DecompositionLayer(nn.Module):
    """A decoder layer that takes the trend out after each addition, instead of normalising (Autoformer).

    Args:
        outputs: Features per step of the trend.
        cross_attention: Attention to the encoded tokens.
        feedforward_size: Hidden units of the perceptron, which has no biases.
        dropout: Fraction dropped in training, of hidden units and residual branches.
    """

    def __init__(
        self,
        hidden_size: int,
        outputs: int,
        *,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        decomposition: Decomposition,
        feedforward_size: int,
        activation: Activation,
        dropout: float,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feedforward = feedforward(hidden_size, feedforward_size, activation, dropout, bias=False)
        self.trend_projection = CircularConvolution(hidden_size, outputs)
        self.decomposition = decomposition
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Return the seasonal tokens ``(batch, token, hidden)`` and the trend ``(batch, token, outputs)``."""
        split = self.decomposition.split
        tokens, first = split(tokens + self.dropout(self.self_attention(tokens, tokens, tokens)))
        tokens, second = split(tokens + self.dropout(self.cross_attention(tokens, encoded, encoded)))
        tokens, third = split(tokens + self.dropout(self.feedforward(tokens)))
        return tokens, self.trend_projection(first + second + third)


class DecompositionDecoder(nn.Module):
    """Decoder layers that refine the season, then a norm, while their trends add up."""

    def __init__(self, layers: Sequence[DecompositionLayer], norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, tokens: Tensor, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Return the seasonal tokens ``(batch, token, hidden)`` and the trend ``(batch, token, outputs)``."""
        trend: Tensor | None = None
        for layer in self.layers:
            tokens, more = layer(tokens, encoded)
            trend = more if trend is None else trend + more
        assert trend is not None
        return self.norm(tokens), trend
