"""Choices that depend on the number of rows, while a graph for any number of rows is traced."""

from __future__ import annotations

from torch import Tensor

from neuro_divergent.core.exporting import is_exporting


def has_rows(values: Tensor, count: int) -> bool:
    """Whether there are at least ``count`` rows; true while ``torch.export`` traces a graph for any number of rows.

    For layers that compute the same function in two ways, of which the second is cheaper for many rows.
    """
    return is_exporting() or values.shape[0] >= count
