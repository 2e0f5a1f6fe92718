"""The tree-structured Parzen estimator."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.methods.base import Method


@register("tpe")
class TPE(Method):
    """Tree-structured Parzen estimator (Bergstra et al., 2011): prefers points that look like the better trials.

    Attributes:
        startup: Random trials before it learns from them.
        candidates: Points that it chooses each proposal from.
        multivariate: Whether settings that exist together are modelled together.
    """

    startup: int = Field(default=10, ge=1)
    candidates: int = Field(default=24, ge=1)
    multivariate: bool = True

    def sampler(self, seed: int) -> Any:
        return load_optuna().samplers.TPESampler(
            seed=seed,
            n_startup_trials=self.startup,
            n_ei_candidates=self.candidates,
            multivariate=self.multivariate,
            group=self.multivariate,
            constant_liar=True,
        )
