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
            them at once.
    """

    function: UserFunction = ""

    def __init__(self, function: UserFunction = "", **values: Any) -> None:
        super().__init__(**{"function": function, **values})

    def weigh(self, age: AnyInts, time: Times, values: AnyFloats) -> Floats:
        weight: Floats = require(self.function, "weighting 'function'")(time, values)
        return weight

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "function": label_of(self.function)}
