"""Settings of the architectures with multi-head attention."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from neuro_divergent.models.base import Architecture


class MultiHead(Architecture):
    """An architecture that splits the width of a token between the heads of its attention.

    Attributes:
        hidden_size: Width of a token, a multiple of ``num_heads``.
        num_heads: Heads of the attention.
    """

    hidden_size: int
    num_heads: int

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.hidden_size % self.num_heads:
            raise ValueError(f"hidden_size: {self.hidden_size} must be a multiple of num_heads ({self.num_heads})")
        return self
