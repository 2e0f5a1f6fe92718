"""Everything known about a window, side by side, for networks that read it in one piece."""

from __future__ import annotations

import torch
from torch import Tensor

from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.layers.covariates import Covariates, Encoded


def known_size(history: int, spec: TaskSpec, covariates: Covariates) -> int:
    """Return the number of features that ``join_known`` returns per row, with so many values of the history."""
    steps = spec.input_size + spec.horizon
    return history + spec.input_size * covariates.past_size + steps * covariates.future_size + covariates.static_size


def join_known(history: Tensor, encoded: Encoded) -> Tensor:
    """Return ``(rows, features)``: the history ``(rows, values)``, then past, future and static covariates.

    A history without covariates is not copied.
    """
    parts = [history, *(item.flatten(1) for item in encoded if item is not None)]
    return torch.cat(parts, 1) if len(parts) > 1 else history
