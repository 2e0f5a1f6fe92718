"""A column of the training history, with its smooth part and its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.formatting import format_count
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.rules.base import NotEnoughError

_SHIFTING = ("training.curriculum", "training.teacher_forcing")
_NORMAL_FROM_MEDIAN = 1.4826
_MOST = 5_000  # values; noise and course of a curve can be told from fewer


@dataclass(frozen=True, eq=False)
class Curve:
    """Finite values of a column and the steps at which they were measured."""

    steps: Floats
    values: Floats

    @classmethod
    def of(cls, evidence: Evidence, column: str, *, least: int = 1) -> Curve:
        """Read a column of the history; a very long one is thinned evenly.

        Raises:
            NotEnoughError: If it has fewer than ``least`` finite values.
        """
        history = evidence.history
        if history is None or not {"step", column} <= set(history.columns):
            raise NotEnoughError(f"the history has no {column}")
        table = history.select(pl.col("step", column).cast(pl.Float64, strict=False))
        table = table.filter(pl.all_horizontal(pl.all().is_finite()))
        if len(table) < least:
            found = format_count(len(table), f"{column} value")
            raise NotEnoughError(f"the history has {found}, and {least} are needed")
        if len(table) > _MOST:
            table = table[np.linspace(0, len(table) - 1, _MOST).round().astype(np.int64)]
        return cls(table["step"].to_numpy(), table[column].to_numpy())

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def smooth(self) -> Floats:
        """Running median over a tenth of the curve, at least three values."""
        half = max(1, len(self.values) // 20)
        if len(self.values) < 2 * half + 1:
            return self.values
        # Mirrored at its ends, so that a first or last value counts no more than any other.
        padded = np.pad(self.values, half, mode="reflect")
        medians: Floats = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=-1)
        return medians

    @cached_property
    def noise(self) -> float:
        """Standard deviation of the noise between successive values, robust against single spikes."""
        if len(self.values) < 2:
            return 0.0
        return float(_NORMAL_FROM_MEDIAN * np.median(np.abs(np.diff(self.values))) / math.sqrt(2))

    @property
    def first(self) -> float:
        """The first value."""
        return float(self.values[0])

    @property
    def end(self) -> float:
        """Median of the last tenth, at least three values."""
        return float(np.median(self.values[-max(3, len(self.values) // 10) :]))

    @property
    def lowest(self) -> float:
        """The lowest value of the smooth curve."""
        return float(self.smooth.min())

    @property
    def fall(self) -> float:
        """Difference between the first value and the lowest."""
        return max(self.first - self.lowest, 0.0)

    def between(self, begin: float, end: float) -> Curve:
        """Return the part between two fractions of the steps."""
        low, high = (self.steps[-1] * fraction for fraction in (begin, end))
        chosen = (self.steps > low) & (self.steps <= high) if begin else self.steps <= high
        return Curve(self.steps[chosen], self.values[chosen])


def require_same_targets(evidence: Evidence) -> None:
    """Raise ``NotEnoughError`` if a setting makes the targets of the training loss harder during training."""
    for name in _SHIFTING:
        if evidence.setting(name) is not None:
            raise NotEnoughError(f"{name} changes what the training loss measures while training runs")
