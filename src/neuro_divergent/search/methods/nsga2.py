"""The genetic algorithm NSGA-II."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.methods.base import Method


@register("nsga2")
class NSGAII(Method):
    """Non-dominated sorting with crowding (Deb et al., 2002).

    Attributes:
        population: Trials of a generation.
    """

    population: int = Field(default=50, ge=2)

    def sampler(self, seed: int) -> Any:
        return load_optuna().samplers.NSGAIISampler(seed=seed, population_size=self.population)
