"""Finding out which variables matter (Lim et al., "Temporal Fusion Transformers", 2021)."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Feature
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.covariates import embedding_width
from neuro_divergent.layers.gating import GatedResidual


class VariableVectors(nn.Module):
    """Embeds each variable: from encoded covariates ``(..., E)`` to ``(..., variable, hidden)``.

    A numeric variable has a vector and a bias of its own; the embedding of a categorical one is projected.

    Attributes:
        names: The variables in their order: numeric ones first, as they are encoded.
    """

    def __init__(self, features: tuple[Feature, ...], hidden_size: int) -> None:
        super().__init__()
        ordered = sorted(features, key=lambda feature: feature.cardinality is not None)
        coded = [feature.cardinality for feature in ordered if feature.cardinality]
        self.names = tuple(feature.name for feature in ordered)
        self.widths = [embedding_width(cardinality) for cardinality in coded]
        self.numeric = len(features) - len(coded)
        self.vectors = self.bias = None
        if self.numeric:
            self.vectors = nn.Parameter(nn.init.xavier_normal_(torch.empty(self.numeric, hidden_size)))
            self.bias = nn.Parameter(torch.zeros(self.numeric, hidden_size))
        self.projections = nn.ModuleList(nn.Linear(width, hidden_size) for width in self.widths)

    def forward(self, encoded: Tensor) -> Tensor:
        numbers, *codes = torch.split(encoded, [self.numeric, *self.widths], -1)
        parts = [project(code)[..., None, :] for project, code in zip(self.projections, codes, strict=True)]
        if self.vectors is not None and self.bias is not None:
            parts.insert(0, torch.addcmul(self.bias, numbers[..., None], self.vectors))
        return torch.cat(parts, -2) if len(parts) > 1 else parts[0]


class VariableSelection(nn.Module):
    """Variable selection weights from all variables and a context; a single variable is not weighted."""

    def __init__(
        self, count: int, hidden_size: int, *, context_size: int, activation: Activation, dropout: float
    ) -> None:
        super().__init__()
        size = hidden_size
        residual = partial(GatedResidual, activation=activation)
        self.weighing = residual(size * count, size, count, context_size=context_size) if count > 1 else None
        self.transforms = nn.ModuleList(residual(size, size, size, dropout=dropout) for _ in range(count))

    def forward(self, variables: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the mix ``(..., hidden)`` and the weights ``(..., variable)``."""
        transformed = [transform(variables[..., place, :]) for place, transform in enumerate(self.transforms)]
        if self.weighing is None:
            return transformed[0], torch.ones_like(variables[..., 0])
        weights = self.weighing(variables.flatten(-2), context).softmax(-1)
        mix = weights[..., None, :] @ torch.stack(transformed, -2)
        return mix.squeeze(-2), weights
