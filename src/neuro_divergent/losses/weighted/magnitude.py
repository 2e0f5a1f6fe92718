"""Larger observations count more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.weighted.base import Weighting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuro_divergent.core.arrays import AnyFloats, AnyInts, Floats, Times


@register("magnitude")
class Magnitude(Weighting):
    """Weighs a value by its size compared with the mean size: ``((1 + |value| / mean) / 2) ** power``.

    A value of mean size counts 1 and zero counts ``0.5 ** power``: little, but not nothing, or a forecaster would never
    learn of zeros. The mean is that of all values; for the training part, of the values of that part. Missing values
    count 1, and so does everything where every value is zero.

    Attributes:
        power: How strongly size counts; 0 not at all.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> age, values = np.array([2, 1, 0]), np.array([0.0, 10.0, 20.0])  # the mean size is 10
        >>> nd.losses.Magnitude(power=1.0).weights(age, age, values).tolist()
        [0.5, 1.0, 1.5]
    """

    power: float = knob(1.0, low=0.5, high=2.0, ge=0, allow_inf_nan=False)

    @property
    def is_rowwise(self) -> bool:
        return True

    def fit(self, blocks: Iterable[AnyFloats]) -> float:
        """Return the mean size of the observed values; 0 without any."""
        import numpy as np

        mean, count = 0.0, 0
        for values in blocks:
            size = np.abs(np.asarray(values, np.float64))
            seen = size[~np.isnan(size)]
            if len(seen):
                count += len(seen)
                mean += (float(seen.mean()) - mean) * (len(seen) / count)
        return mean

    def weigh(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        return self.weigh_rows(self.fit([values]), age, time, values)

    def weigh_rows(self, fitted: float, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        import numpy as np

        size = np.abs(np.asarray(values, np.float64))
        ratio = np.where(np.isnan(size), 1.0, size / fitted) if fitted > 0 else np.ones_like(size)
        weight: Floats = ((1 + ratio) / 2) ** self.power
        return weight
