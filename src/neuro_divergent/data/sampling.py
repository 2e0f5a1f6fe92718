"""Which windows an epoch draws from series of very unequal length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.windows import Windows

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class BalancedSampling:
    """An epoch that draws fewer windows from series that have more than the median series.

    A longer series gives windows that are evenly spread over it, and others in each epoch.

    Attributes:
        windows: The windows.
        balance: 0 draws all windows of every series, 1 at most as many as the median series has, and between them a
            geometric mean of both: 0.5 draws the square root of their product.
    """

    windows: Windows
    balance: float

    def __len__(self) -> int:
        """Number of windows that an epoch draws."""
        return int(self._draws.sum())

    @property
    def is_needed(self) -> bool:
        """Whether it draws less than all windows."""
        return len(self) < len(self.windows)

    def locate(self, numbers: Ints, epoch: int) -> tuple[Ints, Ints]:
        """Return the series and the first history row of the windows that an epoch draws."""
        draws_before, windows_before, ratio = self._places
        series = np.searchsorted(draws_before, numbers, side="right") - 1
        place = ((numbers - draws_before[series] + (epoch * _GOLDEN) % 1) * ratio[series]).astype(np.int64)
        return self.windows.locate(windows_before[series] + np.minimum(place, self.windows.counts[series] - 1))

    @cached_property
    def _draws(self) -> Ints:
        """Windows that an epoch draws from each series."""
        counts = self.windows.counts
        if not counts.any():
            return counts
        median = float(np.median(counts[counts > 0]))
        wanted = np.maximum(counts, 1) ** (1 - self.balance) * median**self.balance
        draws: Ints = np.minimum(counts, np.ceil(wanted).astype(np.int64))
        return draws

    @cached_property
    def _places(self) -> tuple[Ints, Ints, Floats]:
        """For each series: draws of all before it, windows of all before it, and its windows per draw."""
        draws, counts = self._draws, self.windows.counts
        return np.cumsum(draws) - draws, np.cumsum(counts) - counts, counts / np.maximum(draws, 1)
