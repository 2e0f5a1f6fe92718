"""The frequency of a table that is seen in parts."""

from __future__ import annotations

from typing import cast

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.cleaning.frequency import (
    _DAY,
    _MONTHS,
    _NANOSECONDS,
    PIECE,
    Frequency,
    Unit,
    _is_month_end,
    _normal_months,
    _resolution,
    pairs,
    physical,
)

_MOST_STEPS = 1 << 20  # Different steps that are told apart; a table with more of them has no frequency.
_MONTH_UNITS: tuple[Unit, ...] = ("me", "mo")


class FrequencyEvidence:
    """What ``infer`` finds in all rows of a table, from parts of whole series in their order."""

    def __init__(self) -> None:
        self._dtype: pl.DataType | None = None
        self._rows = 0
        self._steps, self._local_steps = _Steps(), _Steps()
        self._months = {unit: (0, np.zeros(1, np.int64)) for unit in _MONTH_UNITS}
        self._last_weekday = 0
        self._is_late = False  # Whether a day is after the 28th.
        self._are_ends = True  # Whether every day is the last one of its month.

    def update(self, times: pl.Series, offsets: Ints) -> None:
        """Take the rows of some series, ascending in time."""
        self._dtype = times.dtype
        self._steps.update(times, offsets)
        if times.dtype.is_integer():
            return
        zoned = getattr(times.dtype, "time_zone", None) is not None
        local = times.dt.replace_time_zone(None) if zoned else times
        if zoned:
            self._local_steps.update(local, offsets)
        # A step of a zone where clocks change may be an hour shorter than on the wall clock.
        low = self._steps.spread[0] * _resolution(times.dtype) + _NANOSECONDS["h"] if self._steps.spread else 28 * _DAY
        if low >= 28 * _DAY:
            self._count_months(local, offsets)
        if low >= _DAY:
            self._last_weekday = max(self._last_weekday, int(local.dt.weekday().max()))  # type: ignore[arg-type]
        self._is_late = self._is_late or bool((times.dt.day() > 28).any())
        self._are_ends = self._are_ends and bool(times.to_frame().select(_is_month_end(pl.first()).all()).item())
        self._rows += len(times)

    def ending(self, given: Frequency) -> Frequency:
        """Return what ``given.ending`` does for all times."""
        months = _MONTHS.get(given.unit)
        if months is None or given.unit == "me" or not (self._is_late and self._are_ends):
            return given
        return Frequency(given.count * months, "me")

    def infer(self) -> Frequency | None:
        """Return the most common step, or ``None`` where no series has two rows."""
        steps = self._steps
        if steps.spread is None or self._dtype is None:
            return None
        if self._dtype.is_integer():
            return Frequency(steps.usual(), "")
        resolution = _resolution(self._dtype)
        if steps.spread[0] * resolution >= 23 * _NANOSECONDS["h"] and self._local_steps.spread is not None:
            steps = self._local_steps
        low, high = cast(tuple[int, int], steps.spread)
        if low * resolution >= 28 * _DAY:
            fraction, months, unit = max(self._usual_months(unit) for unit in _MONTH_UNITS)
            if fraction > 0.5:
                return _normal_months(months, unit)
        if low * resolution == _DAY < high * resolution and self._last_weekday <= 5:
            return Frequency(1, "bd")
        step = steps.usual() * resolution
        largest = next(unit for unit, size in _NANOSECONDS.items() if step % size == 0)
        return Frequency(step // _NANOSECONDS[largest], cast(Unit, largest))

    def _count_months(self, times: pl.Series, offsets: Ints) -> None:
        """Count full months between neighbours of the first rows, as many as ``infer`` looks at."""
        room = PIECE - self._rows
        if room <= 0 or len(times) < 2:
            return
        head = times.slice(0, room + 1)
        inside = np.append(offsets[offsets < len(head)], len(head))
        for earlier, later, apart in pairs(head, inside):
            for unit, (seen, found) in self._months.items():
                counts = np.delete(Frequency(1, unit).between(earlier, later), apart)
                here = np.bincount(counts[counts > 0], minlength=len(found))
                here[: len(found)] += found
                self._months[unit] = (seen + len(counts), here)

    def _usual_months(self, unit: Unit) -> tuple[float, int, Unit]:
        seen, found = self._months[unit]
        return int(found.sum()) / max(seen, 1), int(found.argmax()), unit


class _Steps:
    """Differences between neighbouring times: the smallest and largest, and how often each occurs."""

    def __init__(self) -> None:
        self.spread: tuple[int, int] | None = None
        self.total = 0
        self.values, self.counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self.divisor = 0

    def update(self, times: pl.Series, offsets: Ints) -> None:
        for earlier, later, apart in pairs(times, offsets):
            differences = np.delete(physical(later) - physical(earlier), apart)
            if not len(differences):
                continue
            low, high = int(differences.min()), int(differences.max())
            if low == high:
                values, counts = np.array([low]), np.array([len(differences)])
            else:
                values, counts = np.unique(differences, return_counts=True)
            self.spread = (low, high) if self.spread is None else (min(low, self.spread[0]), max(high, self.spread[1]))
            self.total += len(differences)
            self.divisor = int(np.gcd(self.divisor, np.gcd.reduce(values)))
            self._merge(values, counts)

    def usual(self) -> int:
        """Return the most common difference, or the common divisor where none is common."""
        if 2 * int(self.counts.max()) > self.total:
            return int(self.values[self.counts.argmax()])
        return self.divisor

    def _merge(self, values: Ints, counts: Ints) -> None:
        merged, places = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        totals = np.zeros(len(merged), np.int64)
        np.add.at(totals, places, np.concatenate([self.counts, counts]))
        if len(merged) > _MOST_STEPS:
            kept = np.sort(np.argsort(totals)[-_MOST_STEPS // 2 :])
            merged, totals = merged[kept], totals[kept]
        self.values, self.counts = merged, totals
