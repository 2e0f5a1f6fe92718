"""The genetic algorithm NSGA-III."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.methods.base import Method


@register("nsga3")
class NSGAIII(Method):
    """Non-dominated sorting with reference directions (Deb & Jain, 2014), for three goals and more.

    Attributes:
        population: Trials of a generation.
    """

    population: int = Field(default=50, ge=2)

    def sampler(self, seed: int) -> Any:
        return load_optuna().samplers.NSGAIIISampler(seed=seed, population_size=self.population)
