"""The step between two rows of a series, and its calendar arithmetic.

A time is a date, a datetime (naive or zoned) or an integer. Steps shorter than a day are durations, so a zoned
series keeps its hours apart in UTC; steps of a day or longer follow the wall clock, so a change to daylight saving time
is no gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.core.errors import ConfigError, DataError, did_you_mean
from neuro_divergent.data.io.table import first_line, show_type, take_rows

Unit = Literal["", "ns", "us", "ms", "s", "m", "h", "d", "bd", "w", "mo", "me", "q", "y"]

PIECE = 1 << 20  # Rows per chunk: large enough for numpy, small enough to need little memory.
_CACHED = 1 << 16  # Rows whose differences stay in the cache of a processor.
_DAY = 86_400 * 10**9
_NANOSECONDS: dict[str, int] = {
    "w": 7 * _DAY, "d": _DAY, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1_000, "ns": 1,
}  # fmt: skip
_LONGEST = 36_525 * _DAY  # Also the largest step of a column that counts, which is as good as any.
_MONTHS: dict[str, int] = {"mo": 1, "me": 1, "q": 3, "y": 12}
_PHYSICAL: dict[str, int] = {"ms": 10**6, "us": 1_000, "ns": 1}
# How many steps of one unit make the cycle that people expect: a day of hours, a year of months.
_CYCLES: dict[str, int] = {"s": 60, "m": 60, "h": 24, "d": 7, "bd": 5, "w": 52, "mo": 12, "me": 12, "q": 4}
# Names in pandas and other libraries. Case matters: "M" is a month and "m" a minute.
_ALIASES: dict[str, tuple[int, Unit]] = {
    "N": (1, "ns"), "U": (1, "us"), "L": (1, "ms"), "S": (1, "s"), "T": (1, "m"), "min": (1, "m"), "H": (1, "h"),
    "D": (1, "d"), "B": (1, "bd"), "W": (1, "w"), "MS": (1, "mo"), "M": (1, "me"), "ME": (1, "me"), "QS": (1, "q"),
    "Q": (3, "me"), "QE": (3, "me"), "YS": (1, "y"), "AS": (1, "y"), "Y": (12, "me"), "YE": (12, "me"),
    "A": (12, "me"),
}  # fmt: skip
_PATTERN = re.compile(r"\s*([+-]?\d*)\s*([A-Za-z]*)(?:-[A-Z]{3})?\s*")


@dataclass(frozen=True)
class Frequency:
    """An integer of units: ``Frequency(15, "m")`` is a quarter of an hour, ``Frequency(1, "")`` counts steps.

    The units are nano-, micro- and milliseconds, seconds, minutes, hours, days, business days (Monday to Friday),
    weeks, months on the same day, months on their last day, quarters and years. ``str`` writes a frequency in the way
    ``parse`` reads it.
    """

    count: int
    unit: Unit

    def __post_init__(self) -> None:
        if self.count < 1 or self.unit not in get_args(Unit):
            raise ConfigError(f"frequency: {self.count}{self.unit} must be an integer ≥ 1 of a known unit")
        if _duration(self) > _LONGEST:
            raise ConfigError(f"frequency: {self.count}{self.unit} is longer than 100 years")

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"

    @classmethod
    def parse(cls, text: str | int | Frequency) -> Frequency:
        """Read a frequency such as ``"15m"``, ``"1d"``, ``"1mo"``, ``"bd"``, ``1`` or a pandas alias (``"MS"``).

        Anchors of pandas (``"W-SUN"``) are left out, because the first time of each series determines them.
        """
        if isinstance(text, Frequency):
            return text
        match = None if isinstance(text, bool) else _PATTERN.fullmatch(str(text))
        known = [*filter(None, get_args(Unit)), *_ALIASES]
        if match is None or not match[0].strip() or match[2] not in ("", *known):
            close = did_you_mean(match[2], known) if match else ""
            raise ConfigError(
                f"frequency: {text!r} is not known.{close} Write a number and a unit, such as '15m', '1h', '1d', '1w', "
                "'1mo', '1q', '1y', 'bd' (business day), 'me' (month end), or an integer for a column that counts"
            )
        multiple, unit = _ALIASES.get(match[2], (1, cast(Unit, match[2])))
        return cls(int(match[1] or 1) * multiple, unit)

    @property
    def season_length(self) -> int:
        """Steps in the cycle that is usual for this frequency: 24 for hours, 7 for days, 12 for months, else 1.

        Minutes cycle by the hour below five minutes and by the day from there on (96 for a quarter of an hour).
        """
        cycle = 1440 if self.unit == "m" and self.count >= 5 else _CYCLES.get(self.unit, 1)
        return max(1, cycle // self.count) if cycle % self.count == 0 else 1

    @property
    def _keeps_wall_clock(self) -> bool:
        return self.unit in ("d", "w", "bd", *_MONTHS)

    def check(self, dtype: pl.DataType, column: str) -> None:
        """Refuse a frequency that a time column of this type cannot have."""
        if dtype.is_integer() != (self.unit == ""):
            held, example = ("integers", "1") if dtype.is_integer() else ("dates", "'1d'")
            raise DataError(f"column {column!r} holds {held}, so frequency '{self}' cannot be; pass e.g. {example}")
        if not self._keeps_wall_clock and _duration(self) % _resolution(dtype):
            raise DataError(f"column {column!r} is {show_type(dtype)}, which is too coarse for the frequency '{self}'")

    def between(self, earlier: pl.Series, later: pl.Series) -> Ints:
        """Count the steps from each time to one that is not before it; -1 where that is no integer number of steps."""
        earlier, later = self._local(earlier), self._local(later)
        length, fits = self.size(earlier.dtype), None
        if length is None:
            steps, length, fits = self._between_dates(earlier, later)
        else:
            steps = physical(later) - physical(earlier)
        count, rest = np.divmod(steps, length)
        count[rest != 0] = -1
        if fits is not None:
            count[~fits] = -1
        return count

    def _between_dates(self, earlier: pl.Series, later: pl.Series) -> tuple[Ints, int, Bools]:
        a, b = pl.col("a"), pl.col("b")
        if self.unit == "bd":
            size = self.count
            steps = pl.business_day_count(a.cast(pl.Date), b.cast(pl.Date))
            fits = (a.dt.weekday() <= 5) & (b.dt.weekday() <= 5)
        else:
            size = self.count * _MONTHS[self.unit]
            steps = 12 * (b.dt.year() - a.dt.year()) + b.dt.month().cast(pl.Int32) - a.dt.month().cast(pl.Int32)
            if self.unit == "me":
                fits = _is_month_end(a) & _is_month_end(b)
            else:
                # Not every month has a 29th to 31st, so those days only repeat from year to year.
                fits = (a.dt.day() == b.dt.day()) & ((a.dt.day() <= 28) | (a.dt.month() == b.dt.month()))
        frame = pl.DataFrame({"a": earlier, "b": later}).select(steps.cast(pl.Int64).alias("steps"), fits.alias("fits"))
        same_hour = (physical(later) - physical(earlier)) % (_DAY // _resolution(earlier.dtype)) == 0
        return frame["steps"].to_numpy(writable=True), size, frame["fits"].to_numpy() & same_hour

    def time_at(self, starts: pl.Series, steps: Ints) -> pl.Series:
        """Return the times that lie some steps after (or, where negative, before) the given ones, in the same type."""
        steps = np.asarray(steps, np.int64)
        size = self.size(starts.dtype)
        if size is not None:
            return _times(_moved(physical(starts), steps, size, starts), starts)
        # One query for all of it, because starting one takes longer than the arithmetic.
        start, step = pl.col("start"), pl.col("step")
        if self.unit == "bd":
            moved = start.dt.add_business_days(step)
        else:
            moved = start.dt.offset_by(pl.format("{}" + ("mo" if self.unit in _MONTHS else self.unit), step))
        moved = moved.dt.month_end() if self.unit == "me" else moved
        frame = pl.DataFrame({"start": starts, "step": steps * self.count * _MONTHS.get(self.unit, 1)})
        try:
            return frame.select(moved.alias(starts.name)).to_series()
        except pl.exceptions.PolarsError as error:  # A month may end with a night whose clocks jump over that time.
            raise DataError(f"column {starts.name!r}: {first_line(error)} Convert the times to UTC") from None

    def times_after(self, last: pl.Series, count: int, *, skipped: Ints | None = None) -> pl.Series:
        """Return the next ``count`` times after each given one, all of the first series, then of the second, ...

        Where ``skipped`` is given, as many steps after each given time come first and are left out.
        """
        steps = np.arange(1, count + 1)
        size = self.size(last.dtype)
        if size is not None:
            moved = steps if skipped is None else skipped[:, None] + steps
            return _times(_moved(physical(last)[:, None], moved, size, last).ravel(), last)
        last = last if skipped is None else self.time_at(last, skipped)
        repeated = take_rows(last, np.repeat(np.arange(len(last)), count))
        return self.time_at(repeated, np.tile(steps, len(last)))

    def explain_jump(self, time: pl.Series) -> str:
        """Raise if a time does not exist or is ambiguous, because clocks change then."""
        zone = getattr(time.dtype, "time_zone", None)
        if zone is None or not self._keeps_wall_clock:
            return ""
        local = self.time_at(time.dt.replace_time_zone(None), np.array([1]))
        shown = local.dt.to_string("%H:%M on %Y-%m-%d").item()
        if local.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").null_count():
            return f"{shown} does not exist in {zone}"
        ambiguous = local.dt.replace_time_zone(zone, ambiguous="null", non_existent="null").null_count()
        return f"{shown} is ambiguous in {zone}" if ambiguous else ""

    def ending(self, times: pl.Series) -> Frequency:
        """Return the same step counted from month end to month end, where every time is one."""
        months = _MONTHS.get(self.unit)
        if months is None or self.unit == "me" or not (times.dt.day() > 28).any():
            return self
        ends = times.to_frame().select(_is_month_end(pl.first()).all()).item()
        return Frequency(self.count * months, "me") if ends else self

    def _local(self, times: pl.Series) -> pl.Series:
        zoned = self._keeps_wall_clock and getattr(times.dtype, "time_zone", None) is not None
        return times.dt.replace_time_zone(None) if zoned else times

    def size(self, dtype: pl.DataType) -> int | None:
        """Return the length of a step in the integers of the physical type, or None where it varies."""
        zoned = getattr(dtype, "time_zone", None) is not None
        if self._keeps_wall_clock and (zoned or self.unit not in ("d", "w")):
            return None
        return self.count if self.unit == "" else _duration(self) // _resolution(dtype)


def is_calendar_step(frequency: Frequency) -> bool:
    """Whether a step is so long that it may be one of months, which have different lengths."""
    return frequency.unit != "" and _duration(frequency) >= 28 * _DAY


def bounds(times: pl.Series) -> tuple[int, int]:
    """Return a range of days, counted from 1970 in UTC, that holds all of some dates or datetimes, and day 0."""
    numbers, resolution = physical(times), _resolution(times.dtype)
    return int(numbers.min(initial=0)) * resolution // _DAY, int(numbers.max(initial=0)) * resolution // _DAY


def extremes(times: pl.Series, offsets: Ints) -> tuple[int, int] | None:
    """Return the smallest and largest difference between neighbouring times of a series, as integers.

    The smallest is negative for unsorted and 0 for repeated times; ``None`` where no series has two rows.
    """
    longer = np.flatnonzero(offsets[1:] - offsets[:-1] > 1)
    if not len(longer):
        return None
    first, second = physical(times.slice(int(offsets[longer[0]]), 2))
    low = high = int(second - first)
    for earlier, later, apart in pairs(times, offsets, _CACHED):
        differences = physical(later) - physical(earlier)
        differences[apart] = low  # Neighbours of two series do not count.
        low, high = min(low, int(differences.min())), max(high, int(differences.max()))
    return low, high


def pairs(times: pl.Series, offsets: Ints, rows: int = PIECE) -> Iterator[tuple[pl.Series, pl.Series, Ints]]:
    """Yield each time and the next one, in chunks, and the positions that belong to two series."""
    borders = offsets[1:-1] - 1
    for begin in range(0, len(times) - 1, rows):
        end = min(begin + rows, len(times) - 1)
        first, last = np.searchsorted(borders, [begin, end])
        yield times.slice(begin, end - begin), times.slice(begin + 1, end - begin), borders[first:last] - begin


def infer(times: pl.Series, offsets: Ints) -> Frequency | None:
    """Infer the most common step between neighbouring rows; ``between`` checks whether all have it.

    Times are ascending in each series. ``None`` where no series has two rows.
    """
    spread = extremes(times, offsets)
    if spread is None:
        return None
    if times.dtype.is_integer():
        return Frequency(_usual_step(times, offsets, spread), "")
    resolution = _resolution(times.dtype)
    if spread[0] * resolution >= 23 * _NANOSECONDS["h"] and getattr(times.dtype, "time_zone", None) is not None:
        times = times.dt.replace_time_zone(None)
        spread = extremes(times, offsets) or spread
    if spread[0] * resolution >= 28 * _DAY:
        fraction, months, unit = max(_usual_months(unit, times, offsets) for unit in ("me", "mo"))
        if fraction > 0.5:
            return _normal_months(months, unit)
    if spread[0] * resolution == _DAY < spread[1] * resolution and times.dt.weekday().max() <= 5:  # type: ignore[operator]
        return Frequency(1, "bd")
    step = _usual_step(times, offsets, spread) * resolution
    largest = next(unit for unit, size in _NANOSECONDS.items() if step % size == 0)
    return Frequency(step // _NANOSECONDS[largest], cast(Unit, largest))


def _usual_step(times: pl.Series, offsets: Ints, spread: tuple[int, int]) -> int:
    """Return the most common difference, or the common divisor where none is common."""
    if spread[0] == spread[1]:
        return spread[0]
    differences = np.concatenate([np.delete(physical(b) - physical(a), gap) for a, b, gap in pairs(times, offsets)])
    values, counts = np.unique(differences, return_counts=True)
    if 2 * counts.max() > len(differences):
        return int(values[counts.argmax()])
    return int(np.gcd.reduce(values))


def _usual_months(unit: Unit, times: pl.Series, offsets: Ints) -> tuple[float, int, Unit]:
    """Return the fraction of neighbours that are full months apart, and the most common number of months."""
    # One piece is enough to guess from; the check that follows looks at all rows.
    earlier, later, apart = next(pairs(times, offsets))
    counts = np.delete(Frequency(1, unit).between(earlier, later), apart)
    fitting = counts[counts > 0]
    return len(fitting) / max(len(counts), 1), int(np.bincount(fitting).argmax()) if len(fitting) else 0, unit


def _normal_months(count: int, unit: Unit) -> Frequency:
    if unit == "mo" and count % 12 == 0:
        return Frequency(count // 12, "y")
    return Frequency(count // 3, "q") if unit == "mo" and count == 3 else Frequency(count, unit)


def _is_month_end(time: pl.Expr) -> pl.Expr:
    return (time + pl.duration(days=1)).dt.day() == 1


def physical(times: pl.Series) -> Ints:
    """Return the physical integers of the times; a view where possible (``Series.to_physical`` takes far longer)."""
    values = times.to_numpy()
    return values.view(np.int64) if values.dtype.kind == "M" else values.astype(np.int64, copy=False)


def _moved(physical: Ints, steps: Ints, size: int, like: pl.Series) -> Ints:
    """Return the integers some steps later; numpy would overflow silently."""
    farthest = max(abs(int(physical.max(initial=0))), abs(int(physical.min(initial=0))))
    farthest += size * max(abs(int(steps.max(initial=0))), abs(int(steps.min(initial=0))))
    if farthest >= 2**63:
        raise _unfit(like)
    return physical + steps * size


def _unfit(like: pl.Series) -> DataError:
    return DataError(f"column {like.name!r}: the times to come do not fit its type {show_type(like.dtype)}")


def _times(physical: Ints, like: pl.Series) -> pl.Series:
    """Turn integers back into times of the type and name of a series."""
    values = pl.Series(like.name, physical)
    if isinstance(like.dtype, pl.Datetime):
        return values.cast(like.dtype)
    try:
        return values.cast(pl.Int32).cast(pl.Date) if like.dtype == pl.Date else values.cast(like.dtype)
    except pl.exceptions.InvalidOperationError:
        raise _unfit(like) from None


def _duration(frequency: Frequency) -> int:
    """Nanoseconds of a step, or about as many where its length varies."""
    months = _MONTHS.get(frequency.unit)
    return frequency.count * (30 * _DAY * months if months else _NANOSECONDS.get(frequency.unit.removeprefix("b"), 1))


def _resolution(dtype: Any) -> int:
    """Nanoseconds that one physical unit of a date or datetime stands for."""
    return _PHYSICAL[dtype.time_unit] if isinstance(dtype, pl.Datetime) else _DAY if dtype == pl.Date else 1
