"""Attention."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class SelfAttention(nn.Module):
    """Lets every token look at all tokens with several heads.

    Args:
        hidden_size: Width of a token, a multiple of ``num_heads``.
        num_heads: Heads.
        dropout: Share of attention weights left out in training.
    """

    def __init__(self, hidden_size: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)
        self.num_heads = num_heads
        self.dropout = dropout

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the same shape, ``(batch, token, hidden)``."""
        batch, count, width = tokens.shape
        heads = self.query_key_value(tokens).view(batch, count, 3, self.num_heads, width // self.num_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        result: Tensor = self.output(attended.transpose(1, 2).reshape(batch, count, width))
        return result
