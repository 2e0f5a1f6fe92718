"""The layers that transformers read with, and their stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from torch import Tensor, nn

from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.attention import Attention
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.normalization import Normalization, make_norm
from neuro_divergent.layers.stochastic_depth import StochasticDepth


class EncoderLayer(nn.Module):
    """Self-attention and a perceptron, each added to its input and normalised afterwards (Vaswani et al., 2017).

    Args:
        dropout: Fraction dropped in training, of attention weights, hidden units and residual branches.
        norm: Normalisation after each addition, by name or as a factory.
        stochastic_depth: Fraction of rows for which, in training, nothing is added; drawn for each of the two.
        attention: Attention of the tokens to each other; full attention with ``num_heads`` heads by default.
    """

    def __init__(
        self,
        hidden_size: int,
        *,
        feedforward_size: int,
        activation: Activation,
        dropout: float,
        num_heads: int = 1,
        norm: Normalization | Callable[[], nn.Module] = "layer",
        stochastic_depth: float = 0.0,
        attention: nn.Module | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.attention = Attention(hidden_size, num_heads, dropout) if attention is None else attention
        self.attention_norm = norm() if callable(norm) else make_norm(norm, hidden_size)
        self.feedforward = feedforward(hidden_size, feedforward_size, activation, dropout, bias=bias)
        self.feedforward_norm = norm() if callable(norm) else make_norm(norm, hidden_size)
        self.dropout = Dropout(dropout)
        self.depth = StochasticDepth(stochastic_depth)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = self.attention_norm(tokens + self.depth(self.dropout(self.attention(tokens, tokens, tokens))))
        result: Tensor = self.feedforward_norm(tokens + self.depth(self.dropout(self.feedforward(tokens))))
        return result


class Encoder(nn.Module):
    """Encoder layers one after the other, then a norm.

    Args:
        between: Applied after each layer but the last, such as ``Distilling``; nothing by default.
    """

    def __init__(self, layers: Sequence[nn.Module], norm: nn.Module, between: Sequence[nn.Module] = ()) -> None:
        super().__init__()
        # In one chain, which training can run in segments that forget their activations.
        pairs = zip_longest(layers, between)
        self.layers = nn.Sequential(*(part for pair in pairs for part in pair if part is not None))
        self.norm = norm

    def forward(self, tokens: Tensor) -> Tensor:
        result: Tensor = self.norm(self.layers(tokens))
        return result


def feedforward(
    hidden_size: int, feedforward_size: int, activation: Activation, dropout: float, *, bias: bool = True
) -> nn.Sequential:
    """Return a perceptron with one hidden layer that works on each token by itself."""
    perceptron = multilayer_perceptron((hidden_size, feedforward_size, hidden_size), activation, dropout)
    for part in perceptron:
        if isinstance(part, nn.Linear) and not bias:
            part.register_parameter("bias", None)
    return perceptron
