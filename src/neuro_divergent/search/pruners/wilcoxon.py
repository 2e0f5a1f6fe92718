"""Pruning by a signed-rank test over folds."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.pruners.base import Pruner


@register("wilcoxon")
class WilcoxonPruner(Pruner):
    """Ends a trial that is worse than the best one on the same folds and seeds, by Wilcoxon's signed-rank test.

    Attributes:
        level: Probability of ending a trial that is as good as the best one.
        startup: Folds before a trial may be ended.
    """

    by_instance: ClassVar[bool] = True

    level: float = Field(default=0.1, gt=0, lt=1)
    startup: int = Field(default=2, ge=0)

    def build(self, reports: int) -> Any:
        return load_optuna().pruners.WilcoxonPruner(p_threshold=self.level, n_startup_steps=self.startup)
