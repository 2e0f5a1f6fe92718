"""Normalisation by name."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

Normalization = Literal["batch", "layer"]


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation of the last axis over all others (Ioffe and Szegedy, 2015).

    A single row has no variance, so in training too it is normalised by the running statistics, which it does not
    change: the last batch of an epoch may hold a single window.
    """

    def forward(self, values: Tensor) -> Tensor:
        rows = values.reshape(-1, values.shape[-1])
        if self.training and rows.shape[0] == 1:
            normalised = functional.batch_norm(
                rows, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        else:
            normalised = super().forward(rows)
        return normalised.view_as(values)


def make_norm(kind: Normalization, size: int) -> nn.Module:
    """Return a new normalisation of tensors whose last axis has ``size`` features."""
    return BatchNorm(size) if kind == "batch" else nn.LayerNorm(size)
