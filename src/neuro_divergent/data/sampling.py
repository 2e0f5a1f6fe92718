"""Which windows an epoch draws: fewer of very long series, or all of the newest rows and some of those before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.replay import Replay
from neuro_divergent.data.windows import Windows

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Sampling:
    """An epoch that draws some of the earlier windows of each series, and all later ones.

    The earlier ones are evenly spread, and others in each epoch.

    Attributes:
        windows: The windows.
    """

    windows: Windows

    def __len__(self) -> int:
        """Number of windows that an epoch draws."""
        return int(self._drawn.sum())

    @property
    def is_needed(self) -> bool:
        """Whether it draws less than all windows."""
        return len(self) < len(self.windows)

    def locate(self, numbers: Ints, epoch: int) -> tuple[Ints, Ints]:
        """Return the series and the first history row of the windows that an epoch draws."""
        drawn_before, windows_before, ratio = self._places
        series = np.searchsorted(drawn_before, numbers, side="right") - 1
        number, draws, pool = numbers - drawn_before[series], self._draws[series], self._pool[series]
        spread = np.minimum(((number + (epoch * _GOLDEN) % 1) * ratio[series]).astype(np.int64), pool - 1)
        place = np.where(number < draws, spread, number - draws + pool)
        return self.windows.locate(windows_before[series] + place)

    @cached_property
    def _pool(self) -> Ints:
        """Number of earlier windows of each series."""
        raise NotImplementedError

    @cached_property
    def _draws(self) -> Ints:
        """Number of those that an epoch draws."""
        raise NotImplementedError

    @cached_property
    def _drawn(self) -> Ints:
        """Windows of each series that an epoch draws."""
        return self._draws + self.windows.counts - self._pool

    @cached_property
    def _places(self) -> tuple[Ints, Ints, Floats]:
        """For each series: draws of all before it, windows of all before it, and its earlier windows per draw."""
        drawn, counts = self._drawn, self.windows.counts
        return np.cumsum(drawn) - drawn, np.cumsum(counts) - counts, self._pool / np.maximum(self._draws, 1)


@dataclass(frozen=True, eq=False)
class BalancedSampling(Sampling):
    """An epoch that draws fewer windows from series that have more than the median series.

    Attributes:
        balance: 0 draws all windows of every series, 1 at most as many as the median series has, and between them a
            geometric mean of both: 0.5 draws the square root of their product.
    """

    balance: float

    @cached_property
    def _pool(self) -> Ints:
        return self.windows.counts

    @cached_property
    def _draws(self) -> Ints:
        counts = self.windows.counts
        if not counts.any():
            return counts
        median = float(np.median(counts[counts > 0]))
        wanted = np.maximum(counts, 1) ** (1 - self.balance) * median**self.balance
        draws: Ints = np.minimum(counts, np.ceil(wanted).astype(np.int64))
        return draws


@dataclass(frozen=True, eq=False)
class ReplaySampling(Sampling):
    """An epoch that draws all windows with new targets, and some of those before.

    Series without new windows, and a training part that ends before the new rows, give earlier windows alone: as many
    as if one window were new.

    Attributes:
        replay: Which rows are new, and how many earlier windows there are.
    """

    replay: Replay

    @cached_property
    def _pool(self) -> Ints:
        windows, counts = self.windows, self.windows.counts
        new_rows = windows.ends - (windows.panel.offsets[1:] - self.replay.rows)
        new: Ints = np.clip(-(-new_rows // windows.step), 0, None)[: len(counts)]
        return counts - np.minimum(new, counts)

    @cached_property
    def _draws(self) -> Ints:
        fraction = self.replay.fraction
        new = np.maximum(self.windows.counts - self._pool, 1)
        wanted: Ints = np.ceil(new * fraction / (1 - fraction)).astype(np.int64)
        return np.minimum(self._pool, wanted)
