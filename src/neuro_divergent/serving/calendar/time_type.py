"""Types of times, and how their integers relate to days and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.calendar.zone import Zone

_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_SECONDS = 86_400
_FIRST_YEAR, _LAST_YEAR = 1000, 2999
_LARGEST_NUMBER = 2**61


@dataclass(frozen=True)
class TimeType:
    """Type of a column of times.

    Attributes:
        kind: ``date``, ``datetime`` or ``integer``.
        unit: Resolution of a datetime: ``ms``, ``us`` or ``ns``; ``None`` for others.
        zone: Name of the time zone of a datetime; ``None`` for naive ones.
    """

    kind: Literal["date", "datetime", "integer"]
    unit: str | None = None
    zone: str | None = None

    @property
    def per_second(self) -> int:
        """Ticks of a second, for datetimes."""
        return _PER_SECOND[self.unit or "us"]

    @property
    def per_day(self) -> int:
        """Integers that make a day; 1 for dates."""
        return self.per_second * _DAY_SECONDS if self.kind == "datetime" else 1

    @cached_property
    def clock(self) -> Zone | None:
        """The time zone, or ``None`` for times without one."""
        return None if self.zone is None else Zone(self.zone, self.per_second)

    def to_local(self, times: Ints) -> Ints:
        """Return what the clocks show, as integers like those of naive times."""
        return times if self.clock is None else self.clock.to_local(times)

    def check_range(self, times: Ints, place: str) -> None:
        """Refuse times outside of the years 1000 to 2999, or integers beyond ±2^61.

        Args:
            times: Any number of times, at least one.
            place: Where they are from, for the message.
        """
        low, high = int(times.min()), int(times.max())
        if self.kind == "integer":
            if low < -_LARGEST_NUMBER or high > _LARGEST_NUMBER:
                raise DataError(f"{place}: outside supported range, ±2^61")
            return
        days = np.array([low // self.per_day, high // self.per_day])
        years = days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
        if years[0] < _FIRST_YEAR or years[1] > _LAST_YEAR:
            raise DataError(f"{place}: outside supported range, the years {_FIRST_YEAR} to {_LAST_YEAR}")
