"""Covariance matrix adaptation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.dimension import Range
from neuro_divergent.search.methods.base import Method

if TYPE_CHECKING:
    from neuro_divergent.search.space import Space


@register("cmaes")
class CMAES(Method):
    """Covariance matrix adaptation evolution strategy (Hansen, 2016), for ranges of numbers.

    Choices, and settings that do not exist in every trial, are drawn at random.

    Attributes:
        sigma: First standard deviation, as a fraction of the shortest range; unset, a sixth.
        population: Points of a generation; unset, it follows from the number of settings.
    """

    several_goals: ClassVar[bool] = False

    sigma: float | None = Field(default=None, gt=0)
    population: int | None = Field(default=None, ge=3)

    def check(self, space: Space, num_goals: int) -> None:
        super().check(space, num_goals)
        if not any(isinstance(item.dimension, Range) for item in space):
            raise ConfigError("method: cmaes needs ranges of numbers, and the space has choices only; use tpe.")

    def sampler(self, seed: int) -> Any:
        load_optuna("cmaes")
        return load_optuna().samplers.CmaEsSampler(
            seed=seed,
            sigma0=self.sigma,
            popsize=self.population,
            independent_sampler=load_optuna().samplers.RandomSampler(seed=seed),
            warn_independent_sampling=False,
        )
