"""The layer that transformers are stacked from."""

from __future__ import annotations

from torch import Tensor, nn

from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.attention import SelfAttention
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.normalization import Normalization, make_norm
from neuro_divergent.layers.stochastic_depth import StochasticDepth


class EncoderLayer(nn.Module):
    """Self-attention and a perceptron, each added to its input and normalised afterwards (Vaswani et al., 2017).

    Args:
        hidden_size: Width of a token.
        num_heads: Heads of the attention.
        feedforward_size: Hidden units of the perceptron.
        activation: Activation of the perceptron.
        dropout: Share left out in training, of attention weights, hidden units and what is added.
        norm: Normalisation of what was added up.
        stochastic_depth: Share of rows for which, in training, nothing is added; drawn for each of the two.
    """

    def __init__(
        self,
        hidden_size: int,
        *,
        num_heads: int,
        feedforward_size: int,
        activation: Activation,
        dropout: float,
        norm: Normalization = "layer",
        stochastic_depth: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = SelfAttention(hidden_size, num_heads, dropout)
        self.attention_norm = make_norm(norm, hidden_size)
        self.feedforward = multilayer_perceptron((hidden_size, feedforward_size, hidden_size), activation, dropout)
        self.feedforward_norm = make_norm(norm, hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.depth = StochasticDepth(stochastic_depth)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the same shape, ``(batch, token, hidden)``."""
        tokens = self.attention_norm(tokens + self.depth(self.dropout(self.attention(tokens))))
        result: Tensor = self.feedforward_norm(tokens + self.depth(self.dropout(self.feedforward(tokens))))
        return result
