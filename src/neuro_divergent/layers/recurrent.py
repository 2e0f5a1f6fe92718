"""Recurrent layers over sequences with time first.

Letters: T time, N rows, I inputs, D hidden, G heads, K features per head.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.exporting import is_exporting

Cell = Literal["rnn", "lstm", "gru"]


def recurrent_layers(
    cell: Cell, inputs: int, hidden_size: int, num_layers: int = 1, dropout: float = 0.0
) -> nn.RNNBase:
    """Return recurrent layers for ``(time, row, inputs)``; dropout is between them, so one layer has none."""
    kinds: dict[Cell, type[nn.RNN | nn.LSTM | nn.GRU]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
    return kinds[cell](inputs, hidden_size, num_layers, dropout=dropout if num_layers > 1 else 0.0)


class DilatedRecurrence(nn.Module):
    """Recurrent layer whose state comes from ``dilation`` steps before (Chang et al., NeurIPS 2017)."""

    def __init__(self, cell: Cell, inputs: int, hidden_size: int, dilation: int) -> None:
        super().__init__()
        self.cells = recurrent_layers(cell, inputs, hidden_size)
        self.dilation = dilation

    def forward(self, values_TNI: Tensor) -> Tensor:
        steps, rows, width = values_TNI.shape
        apart = min(self.dilation, steps)
        count = -(-steps // apart)
        padded = functional.pad(values_TNI, (0, 0, 0, 0, 0, count * apart - steps))
        # Steps that far apart are sequences of their own. With time first they are rows, without moving anything. Sizes
        # are those that the layer knows: torch.export cannot derive them for any number of rows.
        states, _ = self.cells(padded.reshape(count, apart * rows, width))
        result: Tensor = states.reshape(count * apart, rows, self.cells.hidden_size)[:steps]
        return result

    def extra_repr(self) -> str:
        return f"dilation={self.dilation}"


def matrix_memory(
    queries_NGTK: Tensor, keys_NGTK: Tensor, values_NGTK: Tensor, write_NGT: Tensor, keep_NGT: Tensor
) -> Tensor:
    """Read at each step a matrix in which all steps so far stored a value under a key (mLSTM of Beck et al., 2024).

    Stored values decay with the forget gates of later steps. All steps are computed at once, as in attention, with
    weights that are scaled by the largest exponent so that none overflows. Input gates (``write``) are exponents,
    forget gates (``keep``) come before their sigmoid. The retrieved values have the shape of the queries.
    """
    faded = functional.logsigmoid(keep_NGT).cumsum(2)
    # What a step stored has at any later one the exponent ``stored`` of its own plus ``faded`` of the later one, so the
    # largest exponent of each step comes from a running maximum, and no matrix has to be searched.
    stored = write_NGT - faded
    largest = _running_maximum(stored)
    steps = queries_NGTK.shape[2]
    later = torch.ones(steps, steps, dtype=torch.bool, device=queries_NGTK.device).triu_(1)
    fading_NGTT = (stored[..., None, :] - largest[..., None]).masked_fill_(later, -torch.inf).exp_()
    matches = (queries_NGTK / queries_NGTK.shape[3] ** 0.5) @ keys_NGTK.transpose(2, 3)
    weights = matches * fading_NGTT
    total = torch.maximum(weights.sum(3).abs(), (-faded - largest).exp())
    found: Tensor = weights @ values_NGTK / (total + 1e-6)[..., None]
    return found


def _running_maximum(values_NGT: Tensor) -> Tensor:
    """Return the largest value so far at each step."""
    if not is_exporting():
        return values_NGT.cummax(2).values
    # ONNX has no such operator: after each round, a value is the largest of twice as many steps.
    reach = 1
    while reach < values_NGT.shape[2]:
        before = functional.pad(values_NGT[..., :-reach], (reach, 0), value=-torch.inf)
        values_NGT, reach = torch.maximum(values_NGT, before), 2 * reach
    return values_NGT


def scalar_memory(gates_TGNK: Tensor, recurrent_GKK: Tensor) -> Tensor:
    """Run cells with exponential gates, whose heads remember apart from each other (sLSTM of Beck et al., 2024).

    Takes the input part of the gates, ``(time, head, row, 4 * width)``: input, forget, cell, output, and their
    recurrent weights, ``(head, width, 4 * width)``. Returns the states, ``(time, head, row, width)``.
    """
    shape = (*gates_TGNK.shape[1:3], recurrent_GKK.shape[1])
    state = cell = count = gates_TGNK.new_zeros(shape)
    largest = gates_TGNK.new_full(shape, -torch.inf)  # of the exponents so far: all is relative to it
    states = []
    for gates in gates_TGNK:
        write, keep, content, output = torch.baddbmm(gates, state, recurrent_GKK).chunk(4, 2)
        kept = functional.logsigmoid(keep) + largest
        largest = torch.maximum(write, kept)
        new, old = (write - largest).exp(), (kept - largest).exp()
        cell = old * cell + new * content.tanh()
        count = old * count + new
        state = output.sigmoid() * cell / count
        states.append(state)
    return torch.stack(states)
