"""A list of single windows: those of many folds, for one pass, or a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
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
        located = [part.locate(np.arange(len(part))) for part in parts]
        series, rows = (np.concatenate(side) for side in zip(*located, strict=True))
        return cls.like(parts[0], series, rows)

    @classmethod
    def like(cls, windows: Windows, series: Ints, rows: Ints) -> Self:
        """Return windows that begin at some rows of series, with the sizes of others."""
        same = {field.name: getattr(windows, field.name) for field in fields(Windows)}
        return cls(**same, series=series, targets=rows + windows.input_size)

    @classmethod
    def sample(cls, windows: Windows, most: int) -> Windows:
        """Return at most ``most`` windows, evenly spread over all of them."""
        if len(windows) <= most:
            return windows
        return cls.like(windows, *windows.locate(np.linspace(0, len(windows) - 1, most).round().astype(np.int64)))

    def __len__(self) -> int:
        return len(self.targets)

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        return self.series[numbers], self.targets[numbers] - self.input_size
