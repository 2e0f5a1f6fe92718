"""A false-alarm rate per year, divided over many looks at the data."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, Self

from neuro_divergent.core.errors import ConfigError, InputError

_SECONDS_PER_YEAR = 365.25 * 86_400
_SAME = 1e-11  # years, below a millisecond: what rounding may change
_MOST_LOOKS = 10_000  # that are remembered one by one


class AlphaSpending:
    """Says at each look which probability of a false alarm it may have.

    A look gets as much of the rate as the data since the look before are of a year: with a rate of 0.05 and a look for
    each day of data, that is 0.05 / 365.25. The sum over the looks of a year is the rate, so the probability of any
    false alarm in a year is at most that, whatever the windows of the looks have in common (Bonferroni). Time is that
    of the data: a machine that slept, or looked twice, changes nothing.

    Args:
        rate: Expected number of false alarms per year, at most; below 1.
        start: Time of the data from which on to count: the end of the reference.
        year: Length of a year in the unit of the times, where these are integers.

    Examples:
        >>> import neuro_divergent as nd
        >>> import datetime as dt
        >>> spending = nd.lifecycle.AlphaSpending(rate=0.05, start=dt.date(2026, 1, 1))
        >>> days = [dt.date(2026, 1, 2), dt.date(2026, 1, 12), dt.date(2026, 1, 12)]
        >>> [f"{spending.look(day):.1e}" for day in days]
        ['1.4e-04', '1.4e-03', '1.4e-03']
        >>> spending.looks
        2
    """

    def __init__(self, rate: float = 0.05, *, start: Any, year: float | None = None) -> None:
        if not 0 < rate < 1:
            raise ConfigError(f"rate: {rate!r} must be between 0 and 1, such as 0.05 for one false alarm in 20 years.")
        if year is not None and not year > 0:
            raise ConfigError(f"year: {year!r} must be above 0.")
        self.rate = float(rate)
        self.year = None if year is None else float(year)
        self.start = self._years(start)
        self._looks: list[tuple[float, float]] = []
        self._forgotten = 0.0

    @property
    def spent(self) -> float:
        """Sum of what all looks so far have got."""
        return self._forgotten + sum(alpha for _, alpha in self._looks)

    @property
    def looks(self) -> int:
        """Number of looks that are remembered."""
        return len(self._looks)

    def look(self, time: Any) -> float:
        """Return the probability of a false alarm that a look at the data up to a time may have, and record it.

        The same time again gets the same answer and costs nothing. A time before the last look that was not looked at
        gets 0, with which there is never an alarm: the looks after it have covered its data. No look gets more than the
        rate.

        Args:
            time: Time of the newest data: a date, datetime or number.
        """
        at = self._years(time)
        for other, alpha in reversed(self._looks):
            if math.isclose(other, at, rel_tol=0, abs_tol=_SAME):
                return alpha
        begin = self._looks[-1][0] if self._looks else self.start
        alpha = min(self.rate * max(at - begin, 0.0), self.rate)
        if at > begin:
            self._looks.append((at, alpha))
            while len(self._looks) > _MOST_LOOKS:
                self._forgotten += self._looks.pop(0)[1]
        return alpha

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain numbers."""
        return {
            "rate": self.rate,
            "year": self.year,
            "start": self.start,
            "forgotten": self._forgotten,
            "looks": [[time, alpha] for time, alpha in self._looks],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """Restore a state.

        Raises:
            InputError: If it is no state of this kind.
        """
        try:
            made = cls(state["rate"], start=0, year=state["year"] or 1.0)
            made.year = None if state["year"] is None else float(state["year"])
            made.start = float(state["start"])
            made._forgotten = float(state["forgotten"])
            made._looks = [(float(time), float(alpha)) for time, alpha in state["looks"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no state of alpha spending: {error}.") from error
        return made

    def _years(self, time: Any) -> float:
        """Return a time in years."""
        if isinstance(time, dt.datetime):
            moment = time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)
            return moment.timestamp() / _SECONDS_PER_YEAR
        if isinstance(time, dt.date):
            return self._years(dt.datetime(time.year, time.month, time.day, tzinfo=dt.UTC))
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not math.isfinite(time):
            raise InputError(f"{time!r} is no time: a date, a datetime or a number.")
        if self.year is None:
            raise InputError("times are numbers: say with year how many of them make a year.")
        return time / self.year
