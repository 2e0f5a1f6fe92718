"""Times as people write and live them: reading written dates, and features such as the hour or the day of the week."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats32
from neuro_divergent.core.errors import ConfigError, DataError, did_you_mean
from neuro_divergent.data.cleaning.epochs import parse_epochs
from neuro_divergent.data.cleaning.frequency import PIECE, bounds
from neuro_divergent.data.cleaning.remedy import Remedy
from neuro_divergent.data.io.table import show_type
from neuro_divergent.data.schema import EPOCHS, DateFormat

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:([T ])\d{2}:\d{2}(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?")
_MONTH = re.compile(r"\d{4}-\d{2}")
_WEEK = re.compile(r"\d{4}-?W\d{2}")  # of ISO 8601
# Quarters: what polars finds year and quarter with, by what the first one looks like.
_QUARTERS = {
    re.compile(r"\d{4}[- ]?[Qq][1-4]"): r"^(?<year>\d{4})[- ]?[Qq](?<quarter>[1-4])$",
    re.compile(r"[Qq][1-4][- ]?\d{4}"): r"^[Qq](?<quarter>[1-4])[- ]?(?<year>\d{4})$",
}
_ISO_T = re.compile(r"\d{4}-\d{2}-\d{2}T")
# How dates with the name of a month, which the first group is, are written.
_WITH_NAMES = {
    r"([A-Za-z]{3,}) \d{4}": "%b %Y",
    r"([A-Za-z]{3,})-\d{4}": "%b-%Y",
    r"([A-Za-z]{3,}) \d{1,2}, \d{4}": "%b %d, %Y",
    r"\d{1,2} ([A-Za-z]{3,}) \d{4}": "%d %b %Y",
    r"\d{1,2}-([A-Za-z]{3,})-\d{4}": "%d-%b-%Y",
    r"\d{1,2}-([A-Za-z]{3,})-\d{2}": "%d-%b-%y",
}
_CLOCKS = {
    r"": "",
    r"\d{1,2}:\d{2}": "%H:%M",
    r"\d{1,2}:\d{2}:\d{2}": "%H:%M:%S",
    r"\d{1,2}:\d{2}( ?)[AaPp][Mm]": "%I:%M %p",
    r"\d{1,2}:\d{2}:\d{2}( ?)[AaPp][Mm]": "%I:%M:%S %p",
}
_ROWS_SHOWN = 3  # of each format
NO_HEADER = " The first line holds values: write a line with the names of the columns above it."
_NOTE = "If it is a total or a note that does not belong to the table, delete that row"
TRANSPOSED = " The header holds dates: turn the table, so that each date is a row."
_MOST_FORMATS = 4  # of a column that has several; with more of them it holds something else
_AMBIGUOUS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})")
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
    date_format: DateFormat | None = None,
    number: Callable[[int], int] = _next,
) -> pl.Series:
    """Refuse a time column that is missing somewhere, of a wrong type or out of range; read it where it is text.

    ``fail`` makes the error from a message that names the row and the value. ``date_format`` is how times are written,
    as for ``strptime`` or as a count from 1970, in a column of text or integers; of several formats each text has one.
    ``number`` returns how messages number a row.

    Returns:
        Dates, datetimes or integers without missing values.
    """
    place = f"column {times.name!r}"
    if date_format is not None and (times.dtype == pl.String or times.dtype.is_integer()):
        formats = (date_format,) if isinstance(date_format, str) else date_format
        times = _parse_formats(times.cast(pl.String), formats, fail, number)
    elif times.dtype == pl.String:
        times = parse_times(times, fail, number)
    if missing := times.null_count():
        first = int(times.is_null().arg_true()[0])
        cure = f". {_NOTE}" if first == len(times) - 1 else ""
        raise fail(f"{place}: {missing} missing, first row {number(first)}; every row needs a time{cure}")
    if not (times.dtype in _NUMBERS or times.dtype == pl.Date or times.dtype == pl.Datetime):
        raise fail(f"{place} is {show_type(times.dtype)}; accepted are dates, datetimes and integers")
    if times.dtype.is_integer():
        low, high = (times.min(), times.max()) if len(times) else (0, 0)
        if low >= 19_000_101 and high <= 21_001_231 and _are_dates(times):  # type: ignore[operator]
            offer = _offer("%Y%m%d")
            message = f"row {number(0)}, {place}: {times[0]} looks like a date without separators. {offer}"
            raise fail(message).offering(date_format="%Y%m%d")
        if low >= 190_001 and high <= 210_012 and _are_months(times):  # type: ignore[operator]
            message = f"row {number(0)}, {place}: {times[0]} looks like a year and a month. {_offer('%Y%m')}"
            raise fail(message).offering(date_format="%Y%m")
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


def _are_months(numbers: pl.Series) -> bool:
    """Whether all integers read as year and month, of several years; as plain integers they would have gaps."""
    years, months = numbers // 100, numbers % 100
    return bool(months.is_between(1, 12).all()) and years.n_unique() > 1 and months.n_unique() > 1


def parse_times(column: pl.Series, fail: Callable[[str], DataError], number: Callable[[int], int] = _next) -> pl.Series:
    """Turn text into integers, dates or datetimes, all in the format of the first value; missing ones stay missing.

    A month, a week of ISO 8601 or a quarter, such as 2024-03, 2024-W12 or 2024-Q1, is its first day.
    """
    texts = column.str.strip_chars()
    first = texts.drop_nulls().first()
    if first is None:
        return column
    if re.fullmatch(r"[+-]?\d{1,18}", str(first)):
        times = texts.cast(pl.Int64, strict=False)
    elif _MONTH.fullmatch(str(first)):
        times = (texts + "-01").str.to_date("%Y-%m-%d", strict=False)
    elif _WEEK.fullmatch(str(first)):
        times = (texts.str.replace("-W", "W", literal=True) + "-1").str.to_date("%GW%V-%u", strict=False)
    elif quarters := _quarters_of(str(first)):
        times = _parse_quarters(texts, quarters)
    elif match := _TIME.fullmatch(str(first)):
        times = _parse_iso(texts, match)
    else:
        times = texts.cast(pl.Int64, strict=False).clear(len(texts))
    wrong = (times.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        found = _explain_time(column, texts, int(wrong[0]), number)
        raise fail(found.text).offering(**found.changes)
    return times


def _quarters_of(text: str) -> str | None:
    """Return the pattern of quarters that are written like a text, if it is one."""
    return next((groups for pattern, groups in _QUARTERS.items() if pattern.fullmatch(text)), None)


def _parse_quarters(texts: pl.Series, groups: str) -> pl.Series:
    parts = texts.str.extract_groups(groups)
    month = parts.struct.field("quarter").cast(pl.Int32) * 3 - 2
    return (parts.struct.field("year") + "-" + month.cast(pl.String) + "-01").str.to_date("%Y-%m-%d", strict=False)


def _parse_formats(
    column: pl.Series, formats: Sequence[str], fail: Callable[[str], DataError], number: Callable[[int], int]
) -> pl.Series:
    """Turn text into dates or datetimes, each in one of some formats; what two formats read differently is refused."""
    found = [_parse_format(column, date_format, fail) for date_format in formats]
    times, place = found[0], f"column {column.name!r}"
    zoned = {getattr(item.dtype, "time_zone", None) is not None for item in found}
    if len(zoned) > 1:
        raise fail(f"{place}: of the formats {', '.join(map(repr, formats))} some have a zone and some have none")
    if len({item.dtype for item in found}) > 1:
        found = [item.cast(pl.Datetime("us")) for item in found]
        times = found[0]
    for form, other in zip(formats[1:], found[1:], strict=True):
        twice = ((times != other).fill_null(value=False)).arg_true()
        if len(twice):
            row = int(twice[0])
            raise fail(
                f"row {number(row)}, {place}: {show(column[row])} is {show_time(other, row)} as {form!r}, and "
                f"{show_time(times, row)} as a format before; leave one of them out"
            )
        times = times.zip_with(times.is_not_null(), other)
    wrong = (times.is_null() & column.str.strip_chars().replace("", None).is_not_null()).arg_true()
    if len(wrong):
        row, shown = int(wrong[0]), " or ".join(map(repr, formats))
        cure = "" if re.search(r"\d", str(column[row])) else f". {_NOTE}"
        raise fail(f"row {number(row)}, {place}: {show(column[row])} is not written as {shown}{cure}")
    return times


def _parse_format(column: pl.Series, date_format: str, fail: Callable[[str], DataError]) -> pl.Series:
    """Turn text into dates or datetimes, missing for other text; one without a month or a day begins at the first."""
    if date_format in EPOCHS:
        return parse_epochs(column.str.strip_chars(), date_format)
    marks = set(re.findall(r"%(.)", date_format))
    texts, form = column.str.strip_chars(), re.sub(r"\.%f|%f", "%.f", date_format)
    for needed, mark in (("mbBj", "%m"), ("dj", "%d")):
        if marks.isdisjoint(needed):
            texts, form = texts + " 01", f"{form} {mark}"
    try:
        if marks.isdisjoint("HIMSfpz"):
            return texts.str.to_date(form, strict=False)
        return texts.str.to_datetime(form, strict=False, time_unit="us")
    except pl.exceptions.PolarsError:
        raise fail(f"date_format {date_format!r} cannot be used: it does not make a whole date and time") from None


def _parse_iso(texts: pl.Series, first: re.Match[str]) -> pl.Series:
    separator, seconds, zone = first.groups()
    if separator is None:
        return texts.str.to_date("%Y-%m-%d", strict=False)
    form = f"%Y-%m-%d{separator}%H:%M{':%S%.f' if seconds else ''}{'%#z' if zone else ''}"
    return texts.str.to_datetime(form, strict=False, time_unit="us")


def _explain_time(column: pl.Series, texts: pl.Series, row: int, number: Callable[[int], int]) -> Remedy:
    place = f"row {number(row)}, column {column.name!r}: {show(texts[row])}"
    begin = int(texts.is_not_null().arg_true()[0])
    here, there = _TIME.fullmatch(str(texts[row])), _TIME.fullmatch(str(texts[begin]))
    if here and there and here[1] and there[1] and bool(here[3]) != bool(there[3]):
        return Remedy(
            f"rows {number(begin)}, {number(row)}: zoned and naive timestamps mixed in column {column.name!r}"
        )
    if mixture := _explain_mixture(texts, number):
        return Remedy(f"column {column.name!r} {mixture.text}", mixture.changes)
    day_first, proof = _day_first(texts)
    guess = _guess_format(str(texts[row]), day_first=day_first is not False)
    if guess is not None and _AMBIGUOUS.fullmatch(str(texts[row]).partition(" ")[0]):
        if day_first is None:
            return Remedy(f"{place} is ambiguous: is the day first or the month? {_offer(guess)}")
        first = "day" if day_first else "month"
        shown = f"the {first} is first, as row {number(proof)} ({show(texts[proof])}) shows"
        return Remedy(f"{place} is not ISO 8601; {shown}. {_offer(guess)}", {"date_format": guess})
    if not re.search(r"\d", str(texts[row])):
        return Remedy(f"{place} is not a date. {_NOTE}")
    if guess is not None and not _parse_format(texts.slice(row, 1), guess, DataError).null_count():
        return Remedy(f"{place} is not ISO 8601. {_offer(guess)}", {"date_format": guess})
    return Remedy(
        f"{place} is not a date that can be read without guessing; write ISO 8601, such as 2024-03-31 or "
        f"2024-03-31T15:00. Or p{_offer('%d.%m.%Y')[1:]}"
    )


def _explain_mixture(texts: pl.Series, number: Callable[[int], int]) -> Remedy | None:
    """Return which formats a column has, with rows, if they are several; nothing where others are no times at all."""
    shapes = texts.str.replace_all(r"\d+", "0").str.replace_all("[A-Za-z]+", "a")
    names = shapes.drop_nulls().unique().to_list()
    if not 1 < len(names) <= _MOST_FORMATS or any("0" not in name for name in names):
        return None
    day_first, _ = _day_first(texts)
    shown, formats = [], []
    for name in names:
        rows = (shapes == name).fill_null(value=False).arg_true().head(_ROWS_SHOWN + 1).to_list()
        row, numbers = rows[0], [str(number(row)) for row in rows[:_ROWS_SHOWN]]
        listed = ", ".join([*numbers, *(["..."] if len(rows) > _ROWS_SHOWN else [])])
        shown.append((row, f"{show(texts[row])} (row{'s' * (len(rows) > 1)} {listed})"))
        formats.append((row, _guess_format(str(texts[row]), day_first=day_first is not False)))
    message = f"has times in {len(names)} formats: {', '.join(text for _, text in sorted(shown))}"
    known = [form for _, form in sorted(formats) if form is not None]
    if len(known) < len(formats):
        return Remedy(f"{message}. Write all of them in one format")
    flags = " ".join(map(_flag, known))
    if len(set(known)) == 1:
        return Remedy(f"{message}. Write all of them in one format")
    listed = ", ".join(f'"{form}"' for form in known)
    dates = [str(texts[row]) for row, _ in sorted(shown)]
    unclear = [text for text in dates if (parts := _AMBIGUOUS.fullmatch(text.partition(" ")[0])) and parts[2] != "."]
    question = ""
    if unclear and day_first is None:
        question = f" {show(unclear[0])} is ambiguous: is the day first or the month?"
    cure = f"Write all of them in one, or pass each: date_format=[{listed}] ({flags})"
    return Remedy(f"{message}.{question} {cure}", {} if question else {"date_format": tuple(known)})


def _day_first(texts: pl.Series) -> tuple[bool | None, int]:
    """Return whether dates such as 31/01/2024 begin with the day, if that is certain, and the row that shows it."""
    parts = texts.str.extract_groups(r"^(\d{1,2})[./-](\d{1,2})[./-]\d{2,4}(?:\D|$)")
    first, second = (parts.struct.field(str(place)).cast(pl.Int64, strict=False) for place in (1, 2))
    day, month = (first > 12).arg_true(), (second > 12).arg_true()
    if len(day) and not len(month):
        return True, int(day[0])
    return (False, int(month[0])) if len(month) and not len(day) else (None, 0)


def _guess_format(text: str, *, day_first: bool) -> str | None:
    """Return the format of a text for a suggestion, or nothing."""
    for pattern, named in _WITH_NAMES.items():
        if parts := re.fullmatch(pattern, text):
            return named.replace("%b", "%b" if len(parts[1]) == 3 else "%B")
    date_part, blank, clock = text.partition("T" if _ISO_T.match(text) else " ")
    if re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}", date_part):
        form = "%Y-%m-%d"
    elif re.fullmatch(r"\d{4}/\d{1,2}/\d{1,2}", date_part):
        form = "%Y/%m/%d"
    elif parts := _AMBIGUOUS.fullmatch(date_part):
        form = _format_of(parts, day_first=day_first)
    else:
        return None
    for pattern, mark in _CLOCKS.items():
        if found := re.fullmatch(pattern, clock):
            return f"{form}{blank}{mark.replace(' ', found[1]) if ' ' in mark else mark}"
    return None


def _format_of(parts: re.Match[str], *, day_first: bool) -> str:
    year, mark = "%Y" if len(parts[4]) == 4 else "%y", parts[2]
    return f"%d{mark}%m{mark}{year}" if day_first else f"%m{mark}%d{mark}{year}"


def _offer(form: str) -> str:
    return f'Pass how it is written, such as date_format="{form}" ({_flag(form)})'


def _flag(form: str) -> str:
    return f'--date-format "{form}"' if " " in form else f"--date-format {form}"


def is_like_time(text: str) -> bool:
    """Whether a text is a date or time in one of the usual ways to write one."""
    text = text.strip()
    is_part = _MONTH.fullmatch(text) or _WEEK.fullmatch(text) or _quarters_of(text)
    return bool(is_part or _TIME.fullmatch(text) or _guess_format(text, day_first=True))


def holds_values(names: Sequence[str]) -> bool:
    """Whether names of columns are a row of values, with a time and a number, so that the header is missing."""
    numbers = [name for name in names if re.fullmatch(r"[+-]?\d+(?:[.,]\d+)?", name)]
    return bool(numbers) and any(is_like_time(name) for name in names if name not in numbers)


def holds_dates(names: Sequence[str]) -> bool:
    """Whether names of columns are dates, so that the table has a row for each series and not for each time."""
    return sum(bool(_TIME.fullmatch(name) or _AMBIGUOUS.fullmatch(name)) for name in names) > 1


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
