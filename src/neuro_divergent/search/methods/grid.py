"""Every combination."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.search.methods.base import Method

if TYPE_CHECKING:
    from neuro_divergent.search.parameter import Point
    from neuro_divergent.search.space import Space


@register("grid")
class Grid(Method):
    """Tries every combination once, in order; a range without steps has five values.

    It does not start with the defaults, which need not be in the grid.
    """

    starts_with_defaults: ClassVar[bool] = False
    learns: ClassVar[bool] = False

    def size(self, space: Space) -> int | None:
        return space.grid_size()

    def point(self, space: Space, place: int, seed: int) -> Point | None:
        return next(itertools.islice(space.grid(), place, None))
