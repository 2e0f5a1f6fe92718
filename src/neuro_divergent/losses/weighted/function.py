"""A function of the user's decides how much each observation counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuro_divergent.core.config import register
from neuro_divergent.core.function import UserFunction, label_of, require
from neuro_divergent.losses.weighted.base import Weighting

if TYPE_CHECKING:
    from neuro_divergent.core.arrays import AnyFloats, AnyInts, Floats, Times


@register("function")
class WeightFunction(Weighting):
    """Weighs observations by any Python function of their times and values.

    A file cannot hold a function: settings that were written and read again know only its label, and using them is an
    error that says so.

    Attributes:
        function: Takes the array of times (``datetime64`` or integers) and the array of values (NaN where nothing was
            observed), and returns an array of weights, one for each. Both hold many rows: it is called for all of
            them at once, unless ``rowwise``.
        rowwise: Whether the weight of a row depends on its own time and value alone, so that the function may be called
            for some rows at a time, in any number and order. Data that do not fit in memory need that.

    Examples:
        Days with more than 100 sales, of which there are few, count twice:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> weighting = nd.losses.WeightFunction(lambda time, values: np.where(values > 100, 2.0, 1.0))
        >>> age = np.array([2, 1, 0])
        >>> weighting.weights(age, age, np.array([80.0, 90.0, 250.0])).tolist()
        [1.0, 1.0, 2.0]
    """

    function: UserFunction = ""
    rowwise: bool = False

    def __init__(self, function: UserFunction = "", **values: Any) -> None:
        super().__init__(**{"function": function, **values})

    @property
    def is_rowwise(self) -> bool:
        return self.rowwise

    def weigh(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        weight: Floats = require(self.function, "weighting 'function'")(time, values)
        return weight

    def to_dict(self) -> dict[str, Any]:
        values = {**super().to_dict(), "function": label_of(self.function)}
        if not self.rowwise:  # runs of earlier versions, which do not have it, can then be resumed
            del values["rowwise"]
        return values
