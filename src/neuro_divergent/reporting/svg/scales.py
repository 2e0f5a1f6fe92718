"""Positions of values on an axis, and its tick labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.formatting import format_distinct
from neuro_divergent.reporting.figures.figure import Axis, Values
from neuro_divergent.reporting.svg.ticks import power_ticks, round_ticks
from neuro_divergent.reporting.svg.time_ticks import time_ticks

Kind = Literal["number", "logarithm", "time"]

# Beyond these a number has no place on an axis: its ends, with some room, and their difference must be numbers, too.
_LARGEST, _LARGEST_POWER = 1e300, 1e140
_LETTER, _GAP = 6.6, 12  # pixels of a letter, and between two labels


class Tick(NamedTuple):
    """A label at a fraction of an axis, with a second line or nothing; a spare one goes where there is little room."""

    place: float
    text: str
    context: str = ""
    is_spare: bool = False


@dataclass(frozen=True)
class Scale:
    """An axis of numbers, their logarithms or times between two ends in units of ``to_numeric``."""

    kind: Kind
    low: float
    high: float

    def place(self, values: Any) -> Floats:
        """Return positions as fractions of the axis; NaN for a value that has no place on it."""
        return (to_numeric(values, self.kind) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[Tick]:
        """Return labels from begin to end."""
        if self.kind == "time":
            span = self.high - self.low
            times = time_ticks(self.low, self.high, most)
            return _without_crowd([Tick((time - self.low) / span, text, context) for time, text, context in times])
        if self.kind == "logarithm":
            ends = 10**self.low, 10**self.high
            numbers = power_ticks(*ends, most)
            numbers = numbers if len(numbers) > 1 else round_ticks(*ends, most)
        else:
            numbers = round_ticks(self.low, self.high, most)
        positions = self.place(np.array(numbers)).tolist()
        return [Tick(*pair) for pair in zip(positions, format_distinct(numbers), strict=True)]


@dataclass(frozen=True)
class NameScale:
    """An axis of named things, each at its number counted from 0, with as much room as every other."""

    names: Sequence[str]

    def place(self, values: Any) -> Floats:
        """Return the positions of things, given by number, as fractions of the axis."""
        return (np.asarray(values, dtype=np.float64) + 0.5) / max(1, len(self.names))

    def ticks(self, most: int) -> list[Tick]:
        """Return labels from begin to end, leaving some out where there are more than fit."""
        every = math.ceil(len(self.names) / most) if self.names else 1
        places = self.place(np.arange(len(self.names)))
        return [Tick(float(places[number]), self.names[number]) for number in range(0, len(self.names), every)]


def even_scale(values: Values) -> Scale | None:
    """Return an axis on which each of some numbers or times has the same room, or ``None`` if they are not even."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufM" or len(array) < 2:
        return None
    kind: Kind = "time" if array.dtype.kind == "M" else "number"
    places = to_numeric(array, kind)
    step = (places[-1] - places[0]) / (len(places) - 1)
    if not step > 0 or not np.allclose(np.diff(places), step, rtol=0.01):
        return None
    return Scale(kind, float(places[0] - step / 2), float(places[-1] + step / 2))


def kind_of(values: Sequence[Any], axis: Axis) -> Kind:
    """Return what an axis counts if it shows these arrays."""
    arrays = [np.asarray(array) for array in values]
    if any(array.dtype.kind in "MO" and array.size for array in arrays):
        return "time"
    if axis.logarithmic is False:
        return "number"
    known = _known(arrays, "number")
    if axis.logarithmic:
        return "logarithm" if (known > 0).any() else "number"
    return "logarithm" if known.size and known.min() > 0 and known.max() > 10 * known.min() else "number"


def to_numeric(values: Any, kind: Kind) -> Floats:
    """Return values as numbers that lie evenly on an axis: themselves, their decimal logarithms, or microseconds."""
    array = np.atleast_1d(np.asarray(values))
    if kind == "time":
        times = (_without_zones(array) if array.dtype.kind == "O" else array).astype("M8[us]")
        return np.where(np.isnat(times), np.nan, times.astype(np.int64).astype(np.float64))
    numbers = array.astype(np.float64)
    if kind == "logarithm":
        positive = np.where((numbers > 1 / _LARGEST_POWER) & (numbers < _LARGEST_POWER), numbers, np.nan)
        return np.log10(positive)
    return np.where(np.abs(numbers) < _LARGEST, numbers, np.nan)


def _known(values: Sequence[Array], kind: Kind) -> Floats:
    """Return all values that have a place, as numbers."""
    numbers: Floats = np.concatenate([np.empty(0), *(to_numeric(array, kind) for array in values)])
    return numbers[np.isfinite(numbers)]


def _without_zones(times: Array) -> Array:
    """Return times with their zones taken into account and then left out, as numpy knows none."""
    plain = [
        time.astimezone(UTC).replace(tzinfo=None) if isinstance(time, datetime) and time.tzinfo else time
        for time in times.tolist()
    ]
    return np.array(plain, dtype=object)


def scale_of(values: Sequence[Array], axis: Axis, *, room: float = 0.0, from_zero: bool = False) -> Scale:
    """Return an axis on which arrays of values find their place.

    A fraction of the span is left free as ``room`` at either end; zero stays at the begin where nothing is below it.
    """
    kind = kind_of(values, axis)
    if axis.limits is not None:
        low, high = (float(end) for end in to_numeric(np.array(axis.limits), kind))
        return Scale(kind, low, high)
    known = _known(values, kind)
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if kind == "number" and (from_zero or axis.from_zero):
        low, high = min(low, 0.0), max(high, 0.0)
    if not low < high:
        margin = {"number": abs(low) / 2 or 1.0, "logarithm": 0.5, "time": 43_200e6}[kind]
        return Scale(kind, 0.0 if kind == "number" and low == 0 and from_zero else low - margin, high + margin)
    margin = room * (high - low)
    if kind == "number" and room:
        bottom = low - margin if low < 0 or low > margin else 0.0
        return Scale(kind, bottom, high + margin if high else 0.0)
    return Scale(kind, low - margin, high + margin)


def spread(ticks: list[Tick], wide: float, narrow: float) -> list[Tick]:
    """Leave out labels that would touch each other, and mark the ones that would where there is little room.

    They are evenly spaced; the axis is usually ``wide`` pixels long, and ``narrow`` ones on a phone.
    """
    if not ticks:
        return ticks
    width = max(len(tick.text) for tick in ticks) * _LETTER + _GAP
    ticks = ticks[:: math.ceil(len(ticks) / max(1, wide / width))]
    every = math.ceil(len(ticks) / max(1, narrow / width))
    return [tick._replace(is_spare=number % every > 0) for number, tick in enumerate(ticks)]


def _without_crowd(ticks: list[Tick]) -> list[Tick]:
    """Take away the context of the first label where the next would be written over it."""
    second = next((tick.place for tick in ticks[1:] if tick.context), 1.0)
    if ticks and second - ticks[0].place < len(ticks[0].context) * 0.03:
        return [ticks[0]._replace(context=""), *ticks[1:]]
    return ticks
