"""Recurrent layers over sequences with time first.

Letters: T time, N rows, D hidden.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

Cell = Literal["rnn", "lstm", "gru"]


def recurrent_layers(cell: Cell, inputs: int, hidden_size: int, num_layers: int = 1, dropout: float = 0.0) -> nn.RNNBase:
    """Return recurrent layers for ``(time, row, inputs)``; dropout is between them, so one layer has none."""
    kinds: dict[Cell, type[nn.RNNBase]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
    return kinds[cell](inputs, hidden_size, num_layers, dropout=dropout if num_layers > 1 else 0.0)


class DilatedRecurrence(nn.Module):
    """Recurrent layer whose state comes from ``dilation`` steps before (Chang et al., NeurIPS 2017).

    Args:
        cell: Kind of cell.
        inputs: Numbers read per step.
        hidden_size: Units of the state.
        dilation: Steps between a state and the one it follows.
    """

    def __init__(self, cell: Cell, inputs: int, hidden_size: int, dilation: int) -> None:
        super().__init__()
        self.cells = recurrent_layers(cell, inputs, hidden_size)
        self.dilation = dilation

    def forward(self, values_TNI: Tensor) -> Tensor:
        """Return the states, ``(time, row, hidden)``."""
        steps, rows, width = values_TNI.shape
        apart = min(self.dilation, steps)
        padded = functional.pad(values_TNI, (0, 0, 0, 0, 0, -steps % apart))
        # Steps that far apart are sequences of their own. With time first they are rows, without moving anything.
        states, _ = self.cells(padded.reshape(-1, apart * rows, width))
        result: Tensor = states.reshape(-1, rows, states.shape[-1])[:steps]
        return result

    def extra_repr(self) -> str:
        """Show the dilation."""
        return f"dilation={self.dilation}"
