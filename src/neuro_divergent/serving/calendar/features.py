"""Calendar features of times, in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuro_divergent.core.arrays import Array, Bools, Floats32, Ints
from neuro_divergent.core.errors import DataError, did_you_mean
from neuro_divergent.serving.calendar.time_type import TimeType

_THURSDAY = 3  # 1970 began with one.


class _Parts:
    """The parts of times, from what clocks show.

    Args:
        local: Integers of naive times.
        per_day: How many of them make a day.
    """

    def __init__(self, local: Ints, per_day: int) -> None:
        self.days, rest = np.divmod(local, per_day)
        self.second_of_day = rest * 86_400 // per_day
        self.date = self.days.astype("datetime64[D]")
        self.month_number = self.date.astype("datetime64[M]").astype(np.int64)

    @property
    def weekday(self) -> Ints:
        """From 1 for Monday to 7 for Sunday."""
        return (self.days + _THURSDAY) % 7 + 1

    @property
    def day(self) -> Ints:
        """Day of the month, from 1."""
        return self.days - self._begin(self.month_number) + 1

    @property
    def is_last_day(self) -> Bools:
        """Whether it is the last day of a month."""
        last: Bools = self.days == self._begin(self.month_number + 1) - 1
        return last

    @property
    def week(self) -> Ints:
        """Week of ISO 8601: that of its Thursday."""
        return (_day_of_year(self.days + _THURSDAY - (self.weekday - 1)) - 1) // 7 + 1

    @staticmethod
    def _begin(month: Ints) -> Ints:
        return month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _day_of_year(days: Ints) -> Ints:
    year = days.astype("datetime64[D]").astype("datetime64[Y]")
    return days - year.astype("datetime64[D]").astype(np.int64) + 1


# Each feature: the part of a time as a number, its first value, and how many values it takes in a cycle.
_PARTS: dict[str, tuple[Callable[[_Parts], Array], int, int]] = {
    "second": (lambda time: time.second_of_day % 60, 0, 60),
    "minute": (lambda time: time.second_of_day // 60 % 60, 0, 60),
    "hour": (lambda time: time.second_of_day // 3600, 0, 24),
    "minute_of_day": (lambda time: time.second_of_day // 60, 0, 1440),
    "day_of_week": (lambda time: time.weekday, 1, 7),
    "day_of_month": (lambda time: time.day, 1, 31),
    "day_of_year": (lambda time: _day_of_year(time.days), 1, 366),
    "week": (lambda time: time.week, 1, 53),
    "month": (lambda time: time.month_number % 12 + 1, 1, 12),
    "quarter": (lambda time: time.month_number % 12 // 3 + 1, 1, 4),
    "is_weekend": (lambda time: time.weekday >= 6, 0, 2),
    "is_month_start": (lambda time: time.day == 1, 0, 2),
    "is_month_end": (lambda time: time.is_last_day, 0, 2),
}
_WAVES: dict[str, Callable[[Array], Array]] = {"_sin": np.sin, "_cos": np.cos}

NAMES: tuple[str, ...] = (*_PARTS, *(part + wave for part in _PARTS if not part.startswith("is_") for wave in _WAVES))


def calendar_features(times: Ints, names: tuple[str, ...], time_type: TimeType) -> Floats32:
    """Return calendar features of times, ``(times, features)``, as ``data.cleaning.calendar`` defines them.

    Zoned times count by their wall clock.
    """
    parts = _Parts(time_type.to_local(times), time_type.per_day)
    values = np.empty((len(times), len(names)), np.float32)
    for position, name in enumerate(names):
        values[:, position] = _feature(name, parts)
    return values


def check_names(names: tuple[str, ...], time_type: TimeType) -> None:
    """Refuse features that are not known, or that need dates where times are integers.

    Raises:
        DataError: With the closest known name.
    """
    for name in names:
        if name not in NAMES:
            raise DataError(f"calendar: unknown feature {name[:40]!r}.{did_you_mean(name, NAMES)}")
        if time_type.kind == "integer":
            raise DataError(f"calendar: {name!r} needs dates, and times are integers")


def _feature(name: str, parts: _Parts) -> Array:
    wave = next((wave for wave in _WAVES if name.endswith(wave)), None)
    part, first, count = _PARTS[name.removesuffix(wave or "")]
    value = part(parts).astype(np.float64) - first
    return value / (count - 1) - 0.5 if wave is None else _WAVES[wave](value * (2 * np.pi / count))
