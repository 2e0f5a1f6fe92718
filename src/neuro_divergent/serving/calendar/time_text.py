"""Times as text: reading the end of a series, and writing the times of a forecast."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.calendar.time_type import TimeType

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)
_EPOCH = date(1970, 1, 1)


def read_time(value: str | int, time_type: TimeType) -> int:
    """Return the integer of a time that was written as ISO 8601 or as an integer, by the type of the model's times.

    Raises:
        DataError: If it is of another time_type, cannot be read or is out of range; without the place where it is from.
    """
    if time_type.kind == "integer":
        if isinstance(value, str):
            raise DataError(f"{value[:40]!r} is text; times of this model are integers")
        number = value
    elif not isinstance(value, str):
        raise DataError(f"{value} is a number; times of this model are written as {_example(time_type)}")
    else:
        number = _read_date(value, time_type) if time_type.kind == "date" else _read_datetime(value, time_type)
    if abs(number) >= 2**63:
        raise DataError(f"{str(value)[:40]}: outside supported range")
    time_type.check_range(np.array([number]), str(value)[:40])
    return number


def write_times(times: Ints, time_type: TimeType) -> list[str] | list[int]:
    """Return times as ISO 8601, zoned ones with their offset, or integers as they are.

    Fractions of a second are left out where all are 0.
    """
    if time_type.kind == "integer":
        return [int(time) for time in times]
    if time_type.kind == "date":
        return [str(text) for text in np.datetime_as_string(times.astype("datetime64[D]"))]
    local = time_type.to_local(times)
    unit = time_type.unit if (local % time_type.per_second).any() else "s"
    texts = np.datetime_as_string(local.astype(f"datetime64[{time_type.unit}]").astype(f"datetime64[{unit}]"))
    if time_type.zone is None:
        return [str(text) for text in texts]
    offsets = (local - times) // time_type.per_second
    return [f"{text}{_offset(int(offset))}" for text, offset in zip(texts, offsets, strict=True)]


def csv_times(times: Ints, time_type: TimeType) -> list[str]:
    """Return times as polars writes them to CSV files: with all digits of their resolution."""
    if time_type.kind != "datetime":
        return [str(time) for time in write_times(times, time_type)]
    local = time_type.to_local(times)
    texts = np.datetime_as_string(local.astype(f"datetime64[{time_type.unit}]")).tolist()
    if time_type.zone is None:
        return [str(text) for text in texts]
    offsets = ((local - times) // time_type.per_second).tolist()
    return [f"{text}{_offset(offset, '')}" for text, offset in zip(texts, offsets, strict=True)]


def _offset(seconds: int, mark: str = ":") -> str:
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"{sign}{minutes // 60:02d}{mark}{minutes % 60:02d}"


def _example(time_type: TimeType) -> str:
    if time_type.kind == "date":
        return "dates, such as 2024-03-31"
    return f"times, such as 2024-03-31T15:00:00{'' if time_type.zone is None else '+00:00'}"


def _read_date(text: str, time_type: TimeType) -> int:
    if _DATE.fullmatch(text):
        try:
            return (date.fromisoformat(text) - _EPOCH).days
        except ValueError:
            pass
    raise DataError(f"{text[:40]!r} is not a date; write {_example(time_type)}")


def _read_datetime(text: str, time_type: TimeType) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise DataError(f"{text[:40]!r} is not a time; write {_example(time_type)}")
    day, clock, second, fraction, zone = match.groups()
    if (zone is None) != (time_type.zone is None):
        problem = "has no offset, and" if zone is None else "has an offset, but"
        has = "none" if time_type.zone is None else f"a time zone, {time_type.zone}"
        raise DataError(f"{text[:40]!r} {problem} times of this model have {has}; write {_example(time_type)}")
    try:
        time = datetime.fromisoformat(f"{day}T{clock or '00:00'}:{second or '00'}{zone or '+00:00'}")
    except ValueError:
        raise DataError(f"{text[:40]!r} is not a time; write {_example(time_type)}") from None
    since = time - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    ticks = int((fraction or "").ljust(9, "0")[:9])
    return since // timedelta(seconds=1) * time_type.per_second + ticks * time_type.per_second // 10**9
