"""Times as people write and live them: reading written dates, and features such as the hour or the day of the week."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats32
from neuro_divergent.core.errors import ConfigError, DataError, did_you_mean
from neuro_divergent.data.cleaning.frequency import PIECE, bounds
from neuro_divergent.data.io.table import show_type

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:([T ])\d{2}:\d{2}(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?")
_AMBIGUOUS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})")
_OFFER = 'Pass how it is written, such as date_format="{0}" (--date-format {0})'
_NUMBERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_FIRST_YEAR, _LAST_YEAR = 1000, 2999
# The days between them, counted from 1970, without those that a time zone could move beyond them.
_FIRST_DAY = date(_FIRST_YEAR, 1, 2).toordinal() - date(1970, 1, 1).toordinal()
_LAST_DAY = date(_LAST_YEAR, 12, 30).toordinal() - date(1970, 1, 1).toordinal()
_LARGEST_NUMBER = 2**61  # Differences of larger ones would not fit 64 bits.

# Each feature: the part of a time as a number, its first value, and how many values it takes in a cycle.
_PARTS: dict[str, tuple[Callable[[pl.Expr], pl.Expr], int, int]] = {
    "second": (lambda time: time.dt.second(), 0, 60),
    "minute": (lambda time: time.dt.minute(), 0, 60),
    "hour": (lambda time: time.dt.hour(), 0, 24),
    "minute_of_day": (lambda time: time.dt.hour().cast(pl.Int32) * 60 + time.dt.minute(), 0, 1440),
    "day_of_week": (lambda time: time.dt.weekday(), 1, 7),
    "day_of_month": (lambda time: time.dt.day(), 1, 31),
    "day_of_year": (lambda time: time.dt.ordinal_day(), 1, 366),
    "week": (lambda time: time.dt.week(), 1, 53),
    "month": (lambda time: time.dt.month(), 1, 12),
    "quarter": (lambda time: time.dt.quarter(), 1, 4),
    "is_weekend": (lambda time: time.dt.weekday() >= 6, 0, 2),
    "is_month_start": (lambda time: time.dt.day() == 1, 0, 2),
    "is_month_end": (lambda time: time.dt.day() == time.dt.month_end().dt.day(), 0, 2),
}
_NEED_HOURS = ("second", "minute", "hour")
_WAVES: dict[str, Callable[[pl.Expr], pl.Expr]] = {"_sin": pl.Expr.sin, "_cos": pl.Expr.cos}

NAMES: tuple[str, ...] = (*_PARTS, *(part + wave for part in _PARTS if not part.startswith("is_") for wave in _WAVES))


def check_calendar(names: tuple[str, ...], dtype: pl.DataType | type[pl.DataType], column: str) -> None:
    """Refuse calendar features that do not exist or that the time column cannot give.

    Raises:
        ConfigError: If a name is unknown, if the column counts instead of holding dates, or if a feature is a part of
            the day and the column holds dates.
    """
    for name in names:
        if name not in NAMES:
            close = did_you_mean(name, NAMES) or f" Known: {', '.join(_PARTS)}, each also with _sin and _cos."
            raise ConfigError(f"calendar: unknown feature {name!r}.{close}")
        if dtype.is_integer():
            raise ConfigError(f"calendar: {name!r} needs dates, and the time column {column!r} holds integers")
        if name.startswith(_NEED_HOURS) and dtype == pl.Date:
            raise ConfigError(f"calendar: {name!r} needs times of day, and the time column {column!r} holds dates")


def calendar_features(times: pl.Series, names: tuple[str, ...], into: Floats32) -> None:
    """Write calendar features of times into an array ``(times, features)``; zoned times count by their wall clock.

    A feature runs from -0.5 (first hour, Monday, January) to 0.5 (last hour, Sunday, December); a claim such as
    ``is_weekend`` is -0.5 or 0.5. Its ``_sin`` and ``_cos`` go round a circle once per cycle, from -1 to 1.
    """
    time = pl.col(times.name)
    features = [_feature(name, time).cast(pl.Float32).alias(name) for name in names]
    for begin in range(0, len(times), PIECE):
        frame = times.slice(begin, PIECE).to_frame().select(features)
        for position, column in enumerate(frame):
            into[begin : begin + PIECE, position] = column.to_numpy()


def _feature(name: str, time: pl.Expr) -> pl.Expr:
    wave = next((wave for wave in _WAVES if name.endswith(wave)), None)
    part, first, count = _PARTS[name.removesuffix(wave or "")]
    value = part(time).cast(pl.Float64) - first
    return value / (count - 1) - 0.5 if wave is None else _WAVES[wave](value * (2 * np.pi / count))


def _next(index: int) -> int:
    return index + 1


def check_times(
    times: pl.Series,
    fail: Callable[[str], DataError],
    date_format: str | None = None,
    number: Callable[[int], int] = _next,
) -> pl.Series:
    """Refuse a time column that is missing somewhere, of a wrong type or out of range; read it where it is text.

    ``fail`` makes the error from a message that names the row and the value. ``date_format`` is how times are written,
    as for ``strptime``, in a column of text or integers. ``number`` returns how messages number a row.

    Returns:
        Dates, datetimes or integers without missing values.
    """
    place = f"column {times.name!r}"
    if date_format is not None and (times.dtype == pl.String or times.dtype.is_integer()):
        times = _parse_format(times.cast(pl.String), date_format, fail, number)
    elif times.dtype == pl.String:
        times = parse_times(times, fail, number)
    if missing := times.null_count():
        row = number(int(times.is_null().arg_true()[0]))
        raise fail(f"{place}: {missing} missing, first row {row}; every row needs a time")
    if not (times.dtype in _NUMBERS or times.dtype == pl.Date or times.dtype == pl.Datetime):
        raise fail(f"{place} is {show_type(times.dtype)}; accepted are dates, datetimes and integers")
    if times.dtype.is_integer():
        low, high = (times.min(), times.max()) if len(times) else (0, 0)
        if low >= 19_000_101 and high <= 21_001_231 and _are_dates(times):  # type: ignore[operator]
            offer = _OFFER.format("%Y%m%d")
            raise fail(f"row {number(0)}, {place}: {times[0]} looks like a date without separators. {offer}")
        if low >= -_LARGEST_NUMBER and high <= _LARGEST_NUMBER:  # type: ignore[operator]
            return times
        numbers = times.cast(pl.Int64, strict=False)
        outside = numbers.is_null() | ~numbers.is_between(-_LARGEST_NUMBER, _LARGEST_NUMBER)
    else:
        days = bounds(times)
        if days[0] > _FIRST_DAY and days[1] < _LAST_DAY:
            return times  # Checking two times is faster than checking all of them.
        outside = ~times.dt.year().is_between(_FIRST_YEAR, _LAST_YEAR).fill_null(False)
    if outside.any():
        row = int(outside.arg_true()[0])
        limits = f"the years {_FIRST_YEAR} to {_LAST_YEAR}" if times.dtype.is_temporal() else "±2^61"
        raise fail(f"row {number(row)}, {place}: {show_time(times, row)} outside supported range, {limits}")
    return times


def _are_dates(numbers: pl.Series) -> bool:
    """Whether all integers read as year, month and day; as plain integers they would have gaps."""
    return numbers.cast(pl.String).str.to_date("%Y%m%d", strict=False).null_count() == 0


def parse_times(column: pl.Series, fail: Callable[[str], DataError], number: Callable[[int], int] = _next) -> pl.Series:
    """Turn text into integers, dates or datetimes, all in the format of the first value; missing ones stay missing."""
    texts = column.str.strip_chars()
    first = texts.drop_nulls().first()
    if first is None:
        return column
    if re.fullmatch(r"[+-]?\d{1,18}", str(first)):
        times = texts.cast(pl.Int64, strict=False)
    elif re.fullmatch(r"\d{4}-\d{2}", str(first)):
        times = (texts + "-01").str.to_date("%Y-%m-%d", strict=False)
    elif match := _TIME.fullmatch(str(first)):
        times = _parse_iso(texts, match)
    else:
        times = texts.cast(pl.Int64, strict=False).clear(len(texts))
    wrong = (times.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        raise fail(_explain_time(column, texts, int(wrong[0]), number))
    return times


def _parse_format(
    column: pl.Series, date_format: str, fail: Callable[[str], DataError], number: Callable[[int], int]
) -> pl.Series:
    """Turn text into dates or datetimes; one without a month or a day begins at the first."""
    marks = set(re.findall(r"%(.)", date_format))
    texts, form = column.str.strip_chars(), re.sub(r"\.%f|%f", "%.f", date_format)
    for needed, mark in (("mbBj", "%m"), ("dj", "%d")):
        if marks.isdisjoint(needed):
            texts, form = texts + " 01", f"{form} {mark}"
    try:
        if marks.isdisjoint("HIMSfpz"):
            times = texts.str.to_date(form, strict=False)
        else:
            times = texts.str.to_datetime(form, strict=False, time_unit="us")
    except pl.exceptions.PolarsError:
        raise fail(f"date_format {date_format!r} cannot be used: it does not make a whole date and time") from None
    wrong = (times.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise fail(f"row {number(row)}, column {column.name!r}: {show(column[row])} is not written as {date_format!r}")
    return times


def _parse_iso(texts: pl.Series, first: re.Match[str]) -> pl.Series:
    separator, seconds, zone = first.groups()
    if separator is None:
        return texts.str.to_date("%Y-%m-%d", strict=False)
    form = f"%Y-%m-%d{separator}%H:%M{':%S%.f' if seconds else ''}{'%#z' if zone else ''}"
    return texts.str.to_datetime(form, strict=False, time_unit="us")


def _explain_time(column: pl.Series, texts: pl.Series, row: int, number: Callable[[int], int]) -> str:
    place = f"row {number(row)}, column {column.name!r}: {show(texts[row])}"
    begin = int(texts.is_not_null().arg_true()[0])
    here, there = _TIME.fullmatch(str(texts[row])), _TIME.fullmatch(str(texts[begin]))
    if here and there and here[1] and there[1] and bool(here[3]) != bool(there[3]):
        return f"rows {number(begin)}, {number(row)}: zoned and naive timestamps mixed in column {column.name!r}"
    if here and there and row != begin and here.groups() != there.groups():
        return f"{place} is written unlike row {number(begin)} ({show(texts[begin])}); write all times in one format"
    if parts := _AMBIGUOUS.fullmatch(str(texts[row])):
        year = "%Y" if len(parts[4]) == 4 else "%y"
        offer = _OFFER.format(f"%d{parts[2]}%m{parts[2]}{year}")
        return f"{place} is ambiguous: is the day first or the month? {offer}"
    return (
        f"{place} is not a date that can be read without guessing; write ISO 8601, such as 2024-03-31 or "
        f"2024-03-31T15:00. Or {_OFFER[0].lower()}{_OFFER[1:].format('%d.%m.%Y')}"
    )


def show(value: object) -> str:
    """Return a value as it should appear in a message, shortened where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}...{text[0]}"


def show_time(times: pl.Series, position: int) -> str:
    """Return a time as it should appear in a message: a datetime at midnight is a date."""
    time = times.slice(position, 1)
    if time.dtype.is_temporal() and time.dt.year().null_count():
        return "a time"  # Beyond the year 262142, where asking polars for more would be a panic.
    try:
        return str(time.item()).removesuffix(" 00:00:00")
    except (ValueError, OverflowError):  # Python supports no years beyond 9999.
        return str(time.cast(pl.String).item())
