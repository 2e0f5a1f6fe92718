"""Asynchronous successive halving."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.pruners.base import Pruner


@register("successive_halving")
class SuccessiveHalving(Pruner):
    """Asynchronous successive halving (Li et al., 2020): at each rung the best of the trials go on.

    Attributes:
        first: Fraction of the reports at the first rung.
        factor: One of so many goes on, and has so many times the reports until the next rung.
    """

    first: float = Field(default=0.1, gt=0, lt=1)
    factor: int = Field(default=3, ge=2)

    def build(self, reports: int) -> Any:
        return load_optuna().pruners.SuccessiveHalvingPruner(
            min_resource=max(1, round(self.first * reports)), reduction_factor=self.factor
        )
