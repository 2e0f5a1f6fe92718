"""Newer observations count more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.weighted.base import Weighting

if TYPE_CHECKING:
    from neuro_divergent.core.arrays import AnyFloats, AnyInts, Floats, Times


@register("recency")
class Recency(Weighting):
    """Halves the weight with every ``half_life`` rows of age; the newest row of a series counts 1.

    Attributes:
        half_life: Rows after which an observation counts half. Rows older than about 150 of them count nothing.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> age = np.array([4, 2, 0])  # rows back from the end
        >>> nd.losses.Recency(half_life=2).weights(age, time=age, values=np.zeros(3)).tolist()
        [0.25, 0.5, 1.0]
    """

    half_life: float = knob(100.0, low=10.0, high=1000.0, log=True, gt=0)

    def __init__(self, half_life: float = 100.0, **values: Any) -> None:
        super().__init__(**{"half_life": half_life, **values})

    @property
    def is_rowwise(self) -> bool:
        return True

    def weigh(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        import numpy as np

        return np.exp2(-np.asarray(age, np.float64) / self.half_life)
