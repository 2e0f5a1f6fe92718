"""The contract of pruners."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

REPORTS = 20
"""Reports of a training: one for every twentieth of its steps, whatever the batch size and validation interval."""


class Pruner(Component):
    """Ends trials that are unlikely to become the best.

    A trial with one training reports its best validation error so far, at every twentieth of its steps. One with
    several (folds, seeds) reports after each of them: the mean so far, or the single value where ``by_instance``.
    """

    registry: ClassVar[Registry] = Registry("pruner", "neuro_divergent.search.pruners")
    by_instance: ClassVar[bool] = False

    @abstractmethod
    def build(self, reports: int) -> Any:
        """Return a pruner of Optuna for trials with a number of reports."""
