"""A list of single windows, so that one pass can forecast those of many folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.windows import Windows


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowList(Windows):
    """Windows of a panel, in any order and with repetitions.

    Attributes:
        series: Index of each window's series in the panel.
        targets: First target row of each window.
    """

    series: Ints
    targets: Ints

    @classmethod
    def of(cls, parts: Sequence[Windows]) -> Self:
        """Return the windows of several parts of one panel, one part after another."""
        first = parts[0]
        located = [part.locate(np.arange(len(part))) for part in parts]
        return cls(
            first.panel,
            first.input_size,
            first.horizon,
            first.begins,
            first.ends,
            first.step,
            first.joint,
            series=np.concatenate([series for series, _ in located]),
            targets=np.concatenate([rows + first.input_size for _, rows in located]),
        )

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.targets)

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the series and the first history row of each window number."""
        return self.series[numbers], self.targets[numbers] - self.input_size
