"""The step between two rows of a series, and its calendar arithmetic on integers.

The same rules as ``data.cleaning.frequency``: steps shorter than a day are durations; steps of a day or longer follow
the wall clock of a time zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.calendar.time_type import TimeType

_DAY = 86_400 * 10**9
_NANOSECONDS: dict[str, int] = {
    "w": 7 * _DAY, "d": _DAY, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1_000, "ns": 1,
}  # fmt: skip
_MONTHS: dict[str, int] = {"mo": 1, "me": 1, "q": 3, "y": 12}
_WEEKDAYS = 5
_THURSDAY = 3  # 1970 began with one.


@dataclass(frozen=True)
class Step:
    """A number of units between neighbouring times of one type.

    Attributes:
        count: How many units.
        unit: As in ``Frequency``: empty for integers, else ``ns`` to ``h``, ``d``, ``bd``, ``w``, ``mo``, ``me``, ``q``
            or ``y``.
        type: Type of the times.
    """

    count: int
    unit: str
    type: TimeType

    @classmethod
    def parse(cls, text: str, time_type: TimeType) -> Step:
        """Read what ``str`` of a ``Frequency`` writes.

        Raises:
            DataError: If it is something else, or times of this type cannot have it.
        """
        match = re.fullmatch(r"(\d{1,18})([a-z]{0,2})", text)
        known = match is not None and match[2] in ("", "bd", *_NANOSECONDS, *_MONTHS) and int(match[1]) > 0
        if match is None or not known or (match[2] == "") != (time_type.kind == "integer"):
            raise DataError(f"{text[:40]!r} is not a frequency of times of type {time_type.kind}")
        step = cls(int(match[1]), match[2], time_type)
        if not step.keeps_wall_clock and step.unit and step._nanoseconds % (_DAY // time_type.per_day):
            raise DataError(f"times of type {time_type.kind} are too coarse for the frequency {text!r}")
        return step

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"

    @property
    def keeps_wall_clock(self) -> bool:
        """Whether steps go by what clocks show instead of by durations."""
        return self.unit in ("d", "w", "bd", *_MONTHS)

    @property
    def size(self) -> int | None:
        """Length of a step in the integers of the times, or ``None`` where it varies."""
        if self.keeps_wall_clock and (self.type.zone is not None or self.unit not in ("d", "w")):
            return None
        return self.count if self.unit == "" else self._nanoseconds * self.type.per_day // _DAY

    def time_at(self, starts: Ints, steps: Ints) -> Ints:
        """Return the times that lie some steps after (or, where negative, before) the given ones.

        Raises:
            DataError: If such a time does not fit its type, or does not exist.
        """
        if self.size is not None:
            return self._moved(starts, steps, self.size)
        zone = self.type.clock
        offsets = np.zeros_like(starts) if zone is None else zone.offsets(starts)
        local = starts + offsets * self.type.per_second
        if self.unit in ("d", "w"):
            moved = self._moved(local, steps, self._nanoseconds * self.type.per_day // _DAY)
        else:
            days, clock = np.divmod(local, self.type.per_day)
            moved = self._moved_days(days, steps * self.count) * self.type.per_day + clock
        if zone is None:
            return moved
        # Business days and month ends are set by the date alone, which tells nothing about the offset.
        return zone.to_utc(moved, None if self.unit in ("bd", "me") else np.broadcast_to(offsets, moved.shape))

    def times_after(self, last: int, count: int) -> Ints:
        """Return the next ``count`` times after one."""
        return self.time_at(np.array([last]), np.arange(1, count + 1))

    def between(self, earlier: Ints, later: Ints) -> Ints:
        """Count the steps from each time to one that is not before it; -1 where that is no integer number of steps."""
        if self.keeps_wall_clock:
            earlier, later = self.type.to_local(earlier), self.type.to_local(later)
        per_day, fits = self.type.per_day, None
        if self.unit == "bd" or self.unit in _MONTHS:
            steps, length, fits = self._between_days(earlier // per_day, later // per_day)
            fits &= (later - earlier) % per_day == 0
        else:
            length = self.count if self.unit == "" else self._nanoseconds * per_day // _DAY
            steps = later - earlier
        count, rest = np.divmod(steps, length)
        count[rest != 0] = -1
        if fits is not None:
            count[~fits] = -1
        return count

    def is_on_calendar(self, times: Ints) -> Bools:
        """Whether a series may begin at each time: a business day, or the last day of a month, where those count."""
        result: Bools = self.between(times, times) >= 0
        return result

    def ending(self, times: Ints) -> Step:
        """Return the same step counted from month end to month end, where every time is one."""
        months = _MONTHS.get(self.unit)
        if months is None or self.unit == "me":
            return self
        days = self.type.to_local(times) // self.type.per_day
        _, day, length = _month_of(days)
        if not (day > 27).any() or not (day == length - 1).all():  # Days are counted from 0.
            return self
        return Step(self.count * months, "me", self.type)

    @property
    def _nanoseconds(self) -> int:
        return self.count * _NANOSECONDS[self.unit]

    def _moved(self, times: Ints, steps: Ints, size: int) -> Ints:
        """Return integers some steps later; NumPy would overflow silently."""
        farthest = max(abs(int(times.max(initial=0))), abs(int(times.min(initial=0))))
        farthest += size * max(abs(int(steps.max(initial=0))), abs(int(steps.min(initial=0))))
        if farthest >= 2 ** (31 if self.type.kind == "date" else 63):
            raise DataError(f"the times to come do not fit their type {self.type.kind}")
        return times + steps * size

    def _moved_days(self, days: Ints, steps: Ints) -> Ints:
        if self.unit == "bd":
            return _add_business_days(days, steps)
        month, day, _ = _month_of(days)
        begin, length = _month(month + steps * _MONTHS[self.unit])
        return begin + (length - 1 if self.unit == "me" else np.minimum(day, length - 1))

    def _between_days(self, earlier: Ints, later: Ints) -> tuple[Ints, int, Bools]:
        if self.unit == "bd":
            steps = np.busday_count(earlier.astype("datetime64[D]"), later.astype("datetime64[D]"))
            return steps.astype(np.int64), self.count, (_weekday(earlier) < _WEEKDAYS) & (_weekday(later) < _WEEKDAYS)
        (month, day, length), (other, other_day, other_length) = _month_of(earlier), _month_of(later)
        if self.unit == "me":
            fits = (day == length - 1) & (other_day == other_length - 1)
        else:
            # Not every month has a 29th to 31st, so those days only repeat from year to year.
            fits = (day == other_day) & ((day < 28) | ((other - month) % 12 == 0))
        return other - month, self.count * _MONTHS[self.unit], fits


def _month_of(days: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the month of days since 1970, the day in it from 0, and its number of days."""
    month = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    begin, length = _month(month)
    return month, days - begin, length


def _month(month: Ints) -> tuple[Ints, Ints]:
    """Return the first day of months since 1970, and their number of days."""
    begin = month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return begin, (month + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) - begin


def _weekday(days: Ints) -> Ints:
    """Return 0 for Monday to 6 for Sunday."""
    return (days + _THURSDAY) % 7


def _add_business_days(days: Ints, steps: Ints) -> Ints:
    try:
        moved = np.busday_offset(days.astype("datetime64[D]"), steps, roll="raise")
    except ValueError:
        raise DataError("a series of business days ends on a weekend") from None
    return moved.astype(np.int64)
