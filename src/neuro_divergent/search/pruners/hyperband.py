"""Hyperband."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.pruners.base import Pruner


@register("hyperband")
class Hyperband(Pruner):
    """Hyperband (Li et al., 2018): successive halving with several first rungs, from eager to patient.

    Attributes:
        first: Fraction of the reports at the earliest first rung.
        factor: One of so many goes on at each rung.
    """

    first: float = Field(default=0.1, gt=0, lt=1)
    factor: int = Field(default=3, ge=2)

    def build(self, reports: int) -> Any:
        return load_optuna().pruners.HyperbandPruner(
            min_resource=max(1, round(self.first * reports)), max_resource=reports, reduction_factor=self.factor
        )
