"""The contract of search methods."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from neuro_divergent.search.parameter import Point
    from neuro_divergent.search.space import Space


class Method(Component):
    """Proposes the points of a search.

    A method either computes the point at a place of a sequence (``point``) or has a sampler of Optuna (``sampler``),
    which looks at the trials before. Samplers are made again for each trial, with a seed from the number of the trial,
    so that a search that was killed proposes what it would have proposed.

    Attributes:
        learns: Whether what it proposes depends on the results of trials before.
    """

    registry: ClassVar[Registry] = Registry("search method", "neuro_divergent.search.methods")
    starts_with_defaults: ClassVar[bool] = True
    several_goals: ClassVar[bool] = True
    uses_torch: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    def check(self, space: Space, num_goals: int) -> None:
        """Refuse a space or a number of goals that the method cannot be used for.

        Raises:
            ConfigError: With the reason.
        """
        if num_goals > 1 and not self.several_goals:
            raise ConfigError(f"method: {self.name} has one goal; use nsga2, nsga3, tpe or gp for several.")

    def size(self, space: Space) -> int | None:
        """Return how many points there are; ``None`` for no end."""
        return None

    def point(self, space: Space, place: int, seed: int) -> Point | None:
        """Return the point at a place, counted from 0, for the seed of the study; ``None`` if a sampler decides."""
        return None

    def sampler(self, seed: int) -> Any:
        """Return a new sampler of Optuna, for the seed of a trial."""
        raise NotImplementedError


def trial_seed(seed: int, number: int) -> int:
    """Return the seed of a trial, from the seed of the study and the number of the trial."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big")
