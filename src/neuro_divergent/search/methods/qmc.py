"""Quasi-random search."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.search.methods.base import Method

if TYPE_CHECKING:
    from neuro_divergent.search.parameter import Point
    from neuro_divergent.search.space import Space


@register("qmc")
class QMC(Method):
    """Follows a scrambled Sobol sequence, which fills the space more evenly than random points do.

    The sequence has a coordinate for every setting, also for those that do not exist at a point.
    """

    learns: ClassVar[bool] = False

    def point(self, space: Space, place: int, seed: int) -> Point | None:
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(space), scramble=True, seed=seed)
        if place:
            sequence.fast_forward(place)
        fractions = sequence.random(1)[0]
        return space.at(dict(zip((item.key for item in space), map(float, fractions), strict=True)))
