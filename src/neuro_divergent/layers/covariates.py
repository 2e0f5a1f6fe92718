"""Encoding of covariate columns as features.

Letters: B batch, L history, H horizon, F feature, E encoded feature, N = B * C rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Feature, TaskSpec


def embedding_width(cardinality: int) -> int:
    """Return the embedding size of a category: the rule of thumb of fastai, at most 50."""
    return min(50, math.ceil(1.6 * math.pow(cardinality, 0.56)))


class CovariateEncoder(nn.Module):
    """Passes numeric columns through and embeds categorical ones behind them.

    The embedding of code 0, a category that training never saw, is zero: neutral, and never moved by training.

    Attributes:
        size: Encoded features per row (E).
    """

    numeric: Tensor

    def __init__(self, features: tuple[Feature, ...]) -> None:
        super().__init__()
        numeric = [index for index, feature in enumerate(features) if feature.cardinality is None]
        coded = {index: feature.cardinality for index, feature in enumerate(features) if feature.cardinality}
        self.names = tuple(feature.name for feature in features)
        self._coded = tuple(coded)
        self.register_buffer("numeric", torch.tensor(numeric, dtype=torch.long), persistent=False)
        self.embeddings = nn.ModuleList(
            nn.Embedding(cardinality, embedding_width(cardinality), padding_idx=0) for cardinality in coded.values()
        )
        self.size = len(numeric) + sum(embedding_width(cardinality) for cardinality in coded.values())

    def forward(self, values: Tensor | None) -> Tensor | None:
        """Return ``(..., E)`` for ``(..., F)``, or ``None`` when there are no features."""
        if not self.names:
            return None
        if values is None:
            raise InputError(f"the network was built for the covariates {', '.join(self.names)}; the batch has none.")
        if not self._coded:
            return values
        parts = [values.index_select(-1, self.numeric)]
        for index, embedding in zip(self._coded, self.embeddings, strict=True):
            parts.append(embedding(values[..., index].long()))
        return torch.cat(parts, -1)


class Encoded(NamedTuple):
    """The covariates of a task, encoded, with a row for each row of the network."""

    past: Tensor | None  # N L E
    future: Tensor | None  # N L+H E
    static: Tensor | None  # N E


class Covariates(nn.Module):
    """Encodes all covariates of a task; the channels of a window share them.

    Attributes:
        past_size: Encoded features per past step.
        future_size: Encoded features per step of history and horizon.
        static_size: Encoded features per window.
    """

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__()
        self.past = CovariateEncoder(spec.past)
        self.future = CovariateEncoder(spec.future)
        self.static = CovariateEncoder(spec.static)
        self.past_size, self.future_size, self.static_size = self.past.size, self.future.size, self.static.size
        self._channels = spec.channels

    def forward(self, past: Tensor | None, future: Tensor | None, static: Tensor | None) -> Encoded:
        """Encode ``Batch.past_x``, ``Batch.future_x`` and ``Batch.static_x``."""
        encoded = (self.past(past), self.future(future), self.static(static))
        if self._channels == 1:
            return Encoded(*encoded)
        return Encoded(*(None if item is None else item.repeat_interleave(self._channels, 0) for item in encoded))
