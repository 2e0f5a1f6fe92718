"""Larger observations count more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.weighted.base import Weighting

if TYPE_CHECKING:
    from neuro_divergent.core.arrays import AnyFloats, AnyInts, Floats, Times


@register("magnitude")
class Magnitude(Weighting):
    """Weighs a value by its size compared with the mean size: ``((1 + |value| / mean) / 2) ** power``.

    A value of mean size counts 1 and zero counts ``0.5 ** power``: little, but not nothing, or a forecaster would never
    learn of zeros. The mean is that of all values given at once. Missing values count 1, and so does everything where
    every value is zero.

    Attributes:
        power: How strongly size counts; 0 not at all.
    """

    power: float = knob(1.0, low=0.5, high=2.0, ge=0, allow_inf_nan=False)

    def weigh(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        import numpy as np

        size = np.abs(np.asarray(values, np.float64))
        observed = ~np.isnan(size)
        mean = size[observed].mean() if observed.any() else 0.0
        ratio = np.where(observed, size / mean, 1.0) if mean > 0 else np.ones_like(size)
        weight: Floats = ((1 + ratio) / 2) ** self.power
        return weight
