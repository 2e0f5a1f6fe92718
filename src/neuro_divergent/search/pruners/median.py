"""Pruning below the median."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.pruners.base import Pruner


@register("median")
class MedianPruner(Pruner):
    """Ends a trial that is worse than the median of the others at the same report.

    Attributes:
        startup: Finished trials before any is ended.
        warmup: Fraction of the reports of a trial before it may be ended.
    """

    startup: int = Field(default=5, ge=0)
    warmup: float = Field(default=0.2, ge=0, lt=1)

    def build(self, reports: int) -> Any:
        return load_optuna().pruners.MedianPruner(
            n_startup_trials=self.startup, n_warmup_steps=round(self.warmup * reports)
        )
