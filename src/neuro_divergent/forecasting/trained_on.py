"""What the weights of a fitted model come from."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.splits import rows_before

_READ = 2**20  # rows that are read together


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
    for block in panel.blocks(_READ):
        seen = rows_before(panel, ends, block)
        if panel.mask is not None:
            seen &= panel.mask[block]
        values = panel.y[block][seen]
        if values.size:
            lowest, highest = min(lowest, float(values.min())), max(highest, float(values.max()))
    return (lowest, highest) if lowest <= highest else None


def _check_range(values: Any) -> tuple[float, float] | None:
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != 2 or any(type(value) is not float for value in values):
        raise ValueError("target_range")
    lowest, highest = values
    if not -math.inf < lowest <= highest < math.inf:
        raise ValueError("target_range")
    return lowest, highest
