"""What the weights of a fitted model come from."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.data.panel import Panel

_AT_ONCE = 2**22  # rows that are looked at together


@dataclass(frozen=True)
class TrainedOn:
    """What the weights of a network come from.

    Attributes:
        steps: Optimizer steps.
        windows: Training windows.
        all_rows: Whether the validation part was among them.
        target_range: Lowest and highest target of the training rows; ``None`` where it is not known, as in models of
            earlier versions and in those saved without context.
    """

    steps: int
    windows: int
    all_rows: bool = False
    target_range: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; the range, which earlier versions did not write, is stored by itself."""
        return {name: getattr(self, name) for name in _TYPES}

    @classmethod
    def from_dict(cls, values: Any, target_range: Any = None) -> TrainedOn | None:
        """Rebuild it from plain values; ``None`` for models of earlier versions, which do not say.

        Raises:
            ValueError: If the values are of another kind.
        """
        if values is None:
            return None
        if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != _TYPES:
            raise ValueError("trained_on")
        return cls(**values, target_range=_check_range(target_range))

    def without_range(self) -> TrainedOn:
        """Return the same without the range, whose ends are values of the data."""
        return dataclasses.replace(self, target_range=None)


_TYPES = {"steps": int, "windows": int, "all_rows": bool}


def find_target_range(panel: Panel, ends: Ints) -> tuple[float, float] | None:
    """Return the lowest and highest observed target of each series up to (not including) row ``ends``; of all series.

    ``None`` where none was observed.
    """
    lowest, highest = math.inf, -math.inf
    for first in range(0, len(panel), _AT_ONCE):
        last = min(first + _AT_ONCE, len(panel))
        seen = _before(panel.offsets, ends, first, last)
        if panel.mask is not None:
            seen &= panel.mask[first:last]
        values = panel.y[first:last][seen]
        if values.size:
            lowest, highest = min(lowest, float(values.min())), max(highest, float(values.max()))
    return (lowest, highest) if lowest <= highest else None


def _before(offsets: Ints, ends: Ints, first: int, last: int) -> Bools:
    """Return which rows from ``first`` to ``last`` lie before the end that is given for their series."""
    chosen = slice(int(np.searchsorted(offsets, first, side="right")) - 1, int(np.searchsorted(offsets, last)))
    marks = np.zeros(last - first + 1, np.int64)
    np.add.at(marks, np.clip(offsets[:-1][chosen], first, last) - first, 1)
    np.add.at(marks, np.clip(ends[chosen], first, last) - first, -1)
    seen: Bools = marks.cumsum()[:-1] > 0
    return seen


def _check_range(values: Any) -> tuple[float, float] | None:
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != 2 or any(type(value) is not float for value in values):
        raise ValueError("target_range")
    lowest, highest = values
    if not -math.inf < lowest <= highest < math.inf:
        raise ValueError("target_range")
    return lowest, highest
