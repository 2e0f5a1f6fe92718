"""Gated layers."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.layers.activation import Activation, make_activation
from neuro_divergent.layers.dropout import Dropout


class GatedLinearUnit(nn.Linear):
    """A linear layer multiplied by the sigmoid of another one (Dauphin et al., ICML 2017)."""

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__(input_size, 2 * output_size)

    def forward(self, values: Tensor) -> Tensor:
        return functional.glu(super().forward(values))


class GatedSkip(nn.Module):
    """Gated residual connection followed by layer normalisation."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.gate = GatedLinearUnit(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size, eps=1e-3)

    def forward(self, change: Tensor, skipped: Tensor) -> Tensor:
        result: Tensor = self.norm(self.gate(change) + skipped)
        return result


class GatedResidual(nn.Module):
    """Perceptron with one hidden layer, whose output passes a gate before it is added to the input and normalised.

    The gated residual network of Lim et al., "Temporal Fusion Transformers", 2021.

    Args:
        output_size: Output features; if they differ from the input, the skip connection is projected.
        context_size: Features of a context that moves the hidden units; 0 for none.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        output_size: int,
        *,
        context_size: int = 0,
        activation: Activation = "ELU",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.entrance = nn.Linear(input_size, hidden_size)
        self.context = nn.Linear(context_size, hidden_size, bias=False) if context_size else None
        self.activation = make_activation(activation)
        self.hidden = nn.Linear(hidden_size, hidden_size)
        self.dropout = Dropout(dropout)
        self.gate = GatedLinearUnit(hidden_size, output_size)
        self.skip = nn.Identity() if input_size == output_size else nn.Linear(input_size, output_size)
        self.norm = nn.LayerNorm(output_size, eps=1e-3)

    def forward(self, values: Tensor, context: Tensor | None = None) -> Tensor:
        """Return ``(rows, ..., output_size)``; all that a row holds shares its context ``(rows, context_size)``."""
        hidden: Tensor = self.entrance(values)
        if self.context is not None and context is not None:
            moved: Tensor = self.context(context)
            hidden = hidden + moved.view(moved.shape[0], *(1,) * (hidden.ndim - 2), -1)
        change = self.gate(self.dropout(self.hidden(self.activation(hidden))))
        result: Tensor = self.norm(change + self.skip(values))
        return result
