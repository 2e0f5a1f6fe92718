"""Readable times along an axis: full years, months, days or hours, whatever the span asks for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SECOND = 1_000_000.0
_DAY = 86_400 * _SECOND
# Length of each unit of numpy times in microseconds, and how many of it make a step that people count in.
_UNITS: tuple[tuple[str, float, tuple[int, ...]], ...] = (
    ("us", 1.0, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    ("ms", 1_000.0, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    ("s", _SECOND, (1, 2, 5, 10, 15, 30)),
    ("m", 60 * _SECOND, (1, 2, 5, 10, 15, 30)),
    ("h", 3600 * _SECOND, (1, 2, 3, 6, 12)),
    ("D", _DAY, (1, 2, 7, 14)),
    ("M", 30.4 * _DAY, (1, 2, 3, 6)),
    ("Y", 365 * _DAY, tuple(factor * 10**power for power in range(6) for factor in (1, 2, 5))),
)
_MONDAY = 4  # days from the first of January 1970, a Thursday, to a Monday


class TimeTick(NamedTuple):
    """A label of a time axis, in microseconds since 1970: what differs from the one before, and what is around it.

    The context is the longer unit, where it changes: the year of a month, the day of an hour.
    """

    time: float
    text: str
    context: str


def time_ticks(low: float, high: float, most: int = 6) -> list[TimeTick]:
    """Return up to ``most`` round times between two times in microseconds since 1970.

    They are as many as can be: a span of two years is counted in quarters, one of two days in hours.
    """
    for unit, length, steps in _UNITS:
        for step in steps:
            if (high - low) / (length * step) >= most:
                continue
            times = _multiples(low, high, unit, step)
            if len(times) <= most:
                return _labelled(times, unit)
    return []


def _multiples(low: float, high: float, unit: str, step: int) -> np.ndarray[tuple[int], np.dtype[np.datetime64]]:
    """Return the times in a span that are multiples of a step, in microseconds."""
    origin = {"Y": 1970, "D": -_MONDAY if step % 7 == 0 else 0}.get(unit, 0)
    first = int(np.datetime64(math.floor(low), "us").astype(f"M8[{unit}]").astype(np.int64)) + origin
    last = int(np.datetime64(math.ceil(high), "us").astype(f"M8[{unit}]").astype(np.int64)) + origin
    counts = np.arange(first // step * step, last + 1, step) - origin
    times = counts.astype(f"M8[{unit}]").astype("M8[us]")
    numbers = times.astype(np.int64)
    return times[(numbers >= low) & (numbers <= high)]


def _labelled(times: np.ndarray[tuple[int], np.dtype[np.datetime64]], unit: str) -> list[TimeTick]:
    ticks = []
    before = ""
    for time in times:
        text, context = _label_of(time, unit)
        ticks.append(TimeTick(float(time.astype(np.int64)), text, "" if context == before else context))
        before = context
    return ticks


def _label_of(time: np.datetime64, unit: str) -> tuple[str, str]:
    """Return what to call a time, and the longer time in which it is."""
    date, clock = str(time).split("T")
    year, month, day = date.rsplit("-", 2)
    if unit == "Y":
        return year, ""
    if unit == "M":
        return _MONTHS[int(month) - 1], year
    written = f"{int(day)} {_MONTHS[int(month) - 1]}"
    if unit == "D":
        return written, year
    length = {"h": 5, "m": 5, "s": 8, "ms": 12}.get(unit, 15)
    return clock[:length], f"{written} {year}"
