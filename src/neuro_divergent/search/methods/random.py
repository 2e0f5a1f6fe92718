"""Random search."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.search.methods.base import Method, trial_seed

if TYPE_CHECKING:
    from neuro_divergent.search.parameter import Point
    from neuro_divergent.search.space import Space


@register("random")
class RandomSearch(Method):
    """Draws each setting independently (Bergstra & Bengio, 2012)."""

    learns: ClassVar[bool] = False

    def point(self, space: Space, place: int, seed: int) -> Point | None:
        return space.random(random.Random(trial_seed(seed, place)))
