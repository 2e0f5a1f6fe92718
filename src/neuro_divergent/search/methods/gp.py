"""Bayesian optimisation with a Gaussian process."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.methods.base import Method


@register("gp")
class GP(Method):
    """Gaussian process with a Matern 5/2 kernel and log expected improvement; for few, expensive trials.

    Settings that do not exist in every trial are drawn at random.

    Attributes:
        startup: Random trials before it learns from them.
        noise: Whether two trainings with the same settings may have different scores.
    """

    uses_torch: ClassVar[bool] = True

    startup: int = Field(default=10, ge=1)
    noise: bool = True

    def sampler(self, seed: int) -> Any:
        load_optuna("scipy")
        return load_optuna().samplers.GPSampler(
            seed=seed,
            n_startup_trials=self.startup,
            deterministic_objective=not self.noise,
            warn_independent_sampling=False,
        )
