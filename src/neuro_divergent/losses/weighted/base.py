"""What every weighting is: a weight for each row, from its age, its time and its value."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuro_divergent.core.arrays import AnyFloats, AnyInts, Floats, Times


class Weighting(Component):
    """Says how much each observation counts as a target: 2 counts like two observations, 0 not at all.

    Losses are averaged by these weights, so only their ratios matter.

    A subclass defines ``weigh``, which gets all rows at once. Data that do not fit in memory need a weighting that
    ``is_rowwise``: ``fit`` reads the values block by block, and ``weigh_rows`` weighs the rows of a batch.

    Examples:
        A name, or a table as in a TOML file, stands for a weighting wherever one is expected:

        >>> import neuro_divergent as nd
        >>> nd.Task(horizon=12, weighting={"name": "recency", "half_life": 50}).weighting
        Recency(half_life=50.0)
    """

    registry: ClassVar[Registry] = Registry("weighting", "neuro_divergent.losses.weighted")

    @property
    def is_rowwise(self) -> bool:
        """Whether rows can be weighed a few at a time, given what ``fit`` returned."""
        return False

    def fit(self, blocks: Iterable[AnyFloats]) -> Any:
        """Return what the weights of single rows depend on, such as a mean; ``None`` where they depend on nothing else.

        Args:
            blocks: The observed values of all rows, NaN where nothing was observed, in blocks. They can be read once.
        """
        return None

    def weights(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        """Return the weight of each row, of all rows at once; checked: finite and not negative.

        Args:
            age: Rows back from the end of the series, 0 for the newest.
            time: Time of each row, or its number.
            values: What was observed, NaN where nothing was.

        Raises:
            DataError: If the weighting does not give one usable number for each row.
        """
        return self._checked(self.weigh(age, time, values), time, values)

    def weights_of_rows(self, fitted: Any, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        """Return the weight of each of some rows, checked as by ``weights``.

        Args:
            fitted: What ``fit`` returned.
            age: As for ``weights``.
            time: As for ``weights``.
            values: As for ``weights``.

        Raises:
            DataError: If the weighting does not give one usable number for each row.
        """
        return self._checked(self.weigh_rows(fitted, age, time, values), time, values)

    def _checked(self, given: Any, time: Times, values: AnyFloats) -> Floats:
        import numpy as np

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
    def weigh(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        """Return the weight of each row; ``weights`` checks what comes out."""

    def weigh_rows(self, fitted: Any, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        """Return the weight of each of some rows, given what ``fit`` returned; only where it ``is_rowwise``."""
        return self.weigh(age, time, values)
