"""Times as text, compared with Python and polars."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.serving.calendar.time_text import csv_times, read_time, write_times
from neuro_divergent.serving.calendar.time_type import TimeType
from tests.unit.serving.calendar.test_step import ZONES, to_polars

NAIVE = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(2999, 12, 31))
RECENT = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2036, 1, 1))


@given(NAIVE)
def test_naive_times_are_read_and_written_as_python_does(time: dt.datetime) -> None:
    time_type = TimeType("datetime", "us")
    number = read_time(time.isoformat(), time_type)
    assert dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=number) == time
    assert write_times(np.array([number]), time_type) == [time.isoformat()]
    assert read_time(time.isoformat(" "), time_type) == number


@given(RECENT, st.sampled_from(ZONES), st.integers(-23, 23))
def test_zoned_times_are_read_with_any_offset_and_written_with_their_own(
    time: dt.datetime, zone: str, hours: int
) -> None:
    time_type = TimeType("datetime", "us", zone)
    given_time = time.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))
    number = read_time(given_time.isoformat(), time_type)
    (text,) = write_times(np.array([number]), time_type)
    assert text == given_time.astimezone(ZoneInfo(zone)).isoformat()


@given(st.dates(dt.date(1000, 1, 1), dt.date(2999, 12, 31)))
def test_dates_are_read_and_written_as_python_does(day: dt.date) -> None:
    number = read_time(day.isoformat(), TimeType("date"))
    assert dt.date(1970, 1, 1) + dt.timedelta(days=number) == day
    assert write_times(np.array([number]), TimeType("date")) == [day.isoformat()]


@given(st.sampled_from(["ms", "us", "ns"]), st.sampled_from([None, *ZONES]), st.lists(RECENT, min_size=1))
def test_fields_of_csv_equal_those_of_polars(unit: str, zone: str | None, times: list[dt.datetime]) -> None:
    time_type = TimeType("datetime", unit, zone)
    epoch = dt.datetime(1970, 1, 1)
    numbers = np.array([(time - epoch) // dt.timedelta(seconds=1) for time in times]) * time_type.per_second + 7
    expected = pl.DataFrame({"t": to_polars(numbers, time_type)}).write_csv().split("\n")[1:-1]
    assert csv_times(numbers, time_type) == expected


@pytest.mark.parametrize(
    ("value", "time_type"),
    [
        ("2024-01-01T00:00", TimeType("date")),
        ("2024-02-30", TimeType("date")),
        ("20240101", TimeType("date")),
        ("2024-1-1", TimeType("date")),
        (5, TimeType("date")),
        ("5", TimeType("integer")),
        (2**62, TimeType("integer")),
        (2**70, TimeType("integer")),
        ("2024-01-01T25:00", TimeType("datetime", "us")),
        ("2024-01-01T00:00+01:00", TimeType("datetime", "us")),
        ("2024-01-01T00:00", TimeType("datetime", "us", "UTC")),
        ("2024-01-01T00:00:00.1234567890", TimeType("datetime", "ns")),
        ("٢٠٢٤-01-01", TimeType("date")),
        ("3000-01-01", TimeType("date")),
        ("x" * 10_000, TimeType("datetime", "us")),
        ("", TimeType("datetime", "us")),
    ],
)
def test_other_text_is_refused_in_a_short_message(value: str | int, time_type: TimeType) -> None:
    with pytest.raises(DataError) as caught:
        read_time(value, time_type)
    assert len(str(caught.value)) < 200


def test_fractions_are_read_to_the_resolution() -> None:
    assert read_time("1970-01-01T00:00:00.123456789", TimeType("datetime", "ns")) == 123_456_789
    assert read_time("1970-01-01T00:00:00.123456789", TimeType("datetime", "ms")) == 123
    assert read_time("1970-01-01T00:00:01.5Z", TimeType("datetime", "us", "UTC")) == 1_500_000
