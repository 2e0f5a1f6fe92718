"""What every weighting is: a weight for each row, from its age, its time and its value."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Weights = npt.NDArray[np.float64]
    Ages = npt.NDArray[np.integer[Any]]
    Times = npt.NDArray[np.datetime64] | npt.NDArray[np.integer[Any]]
    Values = npt.NDArray[np.floating[Any]]


class Weighting(Component):
    """Says how much each observation counts as a target: 2 counts like two observations, 0 not at all.

    Losses are averaged by these weights, so only their ratios matter.
    """

    registry: ClassVar[Registry] = Registry("weighting", "neuro_divergent.losses.weighted")

    def weights(self, age: Ages, time: Times, values: Values) -> Weights:
        """Return the weight of each row, checked: finite and not negative.

        Args:
            age: Rows back from the end of the series, 0 for the newest.
            time: Time of each row, or its number.
            values: What was observed, NaN where nothing was.

        Raises:
            DataError: If the weighting does not give one usable number for each row.
        """
        import numpy as np

        given = self.weigh(age, time, values)
        try:
            weight = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"weighting {self.name!r} gave {type(given).__name__}, not an array of numbers.") from None
        if weight.shape != values.shape:
            raise DataError(
                f"weighting {self.name!r} gave weights shaped {weight.shape} for values shaped {values.shape}; it must "
                "give one for each."
            )
        wrong = ~np.isfinite(weight) | (weight < 0)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"weighting {self.name!r} gave {int(wrong.sum())} of {len(weight)} weights that are negative or not "
                f"finite, the first {weight[first]:g} for {time[first]}. Weights must be finite and not negative."
            )
        return weight

    @abstractmethod
    def weigh(self, age: Ages, time: Times, values: Values) -> Weights:
        """Return the weight of each row; ``weights`` checks what comes out."""
