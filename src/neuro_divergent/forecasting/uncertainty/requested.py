"""Requested intervals and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError


class RequestedQuantiles:
    """Intervals and quantiles that a caller requested.

    Attributes:
        levels: Central intervals, in percent.
        quantiles: Quantiles, between 0 and 1.
        all: Every quantile to forecast: both ends of each interval, then the quantiles.

    Raises:
        InputError: If one of them is out of range.
    """

    def __init__(self, levels: Sequence[float] = (), quantiles: Sequence[float] = ()) -> None:
        for name, given, example in (("levels", levels, "[80, 95]"), ("quantiles", quantiles, "[0.1, 0.9]")):
            if isinstance(given, (str, int, float)):
                raise InputError(f"{name} are a list of numbers, such as {example}; got {given!r}.")
        self.levels, self.quantiles = tuple(levels), tuple(quantiles)
        for level in self.levels:
            if not 0 < level < 100:
                raise InputError(f"levels are percentages between 0 and 100, such as [80, 95]; got {level!r}.")
            if level < 1:  # a fraction; such an interval is of no use as a percentage
                raise InputError(f"levels are percentages between 0 and 100: for {level:.4g} write {100 * level:.4g}.")
        for quantile in self.quantiles:
            if not 0 < quantile < 1:
                raise InputError(f"quantiles are between 0 and 1, such as [0.1, 0.9]; got {quantile!r}.")
        self.all = (*(end for level in self.levels for end in interval_quantiles(level)), *self.quantiles)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of ``all``: ``lo-80``, ``hi-80``, ``q-0.1``."""
        ends = [f"{end}-{level:g}" for level in self.levels for end in ("lo", "hi")]
        return ends + [f"q-{quantile:g}" for quantile in self.quantiles]

    def by_name(self, values: Sequence[Array]) -> dict[str, Any]:
        """Return forecasts of ``all`` as the fields ``lower``, ``upper`` and ``quantiles`` of window forecasts."""
        ends = 2 * len(self.levels)
        return {
            "lower": dict(zip(self.levels, values[0:ends:2], strict=True)),
            "upper": dict(zip(self.levels, values[1:ends:2], strict=True)),
            "quantiles": dict(zip(self.quantiles, values[ends:], strict=True)),
        }


def interval_quantiles(level: float) -> tuple[float, float]:
    """Return the two quantiles between which a central interval of ``level`` percent lies."""
    tail = (1 - level / 100) / 2
    return tail, 1 - tail
