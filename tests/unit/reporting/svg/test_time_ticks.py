"""Readable times along an axis."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.reporting.svg.time_ticks import time_ticks


def ticks(begin: str, end: str, most: int = 6) -> list[str]:
    low, high = (float(np.datetime64(text, "us").astype(np.int64)) for text in (begin, end))
    return [f"{tick.text}|{tick.context}" if tick.context else tick.text for tick in time_ticks(low, high, most)]


@pytest.mark.parametrize(
    ("begin", "end", "texts"),
    [
        ("1949-01-01", "1960-12-01", ["1950", "1952", "1954", "1956", "1958", "1960"]),
        ("2023-10-15", "2024-03-02", ["Nov|2023", "Dec", "Jan|2024", "Feb", "Mar"]),
        ("2024-01-29", "2024-02-03", ["29 Jan|2024", "30 Jan", "31 Jan", "1 Feb", "2 Feb", "3 Feb"]),
        ("2024-02-28T20:00", "2024-02-29T04:00", ["20:00|28 Feb 2024", "22:00", "00:00|29 Feb 2024", "02:00", "04:00"]),
        ("2024-02-28T20:00:01", "2024-02-28T20:00:03", ["20:00:01.000|28 Feb 2024", "20:00:01.500", "20:00:02.000",
                                                        "20:00:02.500", "20:00:03.000"]),
    ],
)  # fmt: skip
def test_the_span_decides_how_times_are_written(begin: str, end: str, texts: list[str]) -> None:
    assert ticks(begin, end) == texts


def test_fortnights_begin_on_mondays() -> None:
    low, high = (float(np.datetime64(text, "us").astype(np.int64)) for text in ("2024-01-01", "2024-03-12"))
    found = [datetime(1970, 1, 1) + timedelta(microseconds=tick.time) for tick in time_ticks(low, high, 7)]
    assert len(found) == 5
    assert all(time.weekday() == 0 and time.hour == 0 for time in found)


@given(
    st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    st.floats(1e-3, 1e10, allow_nan=False),
    st.integers(3, 10),
)
def test_times_lie_inside_rise_and_are_neither_few_nor_many(begin: datetime, seconds: float, most: int) -> None:
    low = float(np.datetime64(begin, "us").astype(np.int64))
    high = low + seconds * 1e6
    found = [tick.time for tick in time_ticks(low, high, most)]
    assert 1 <= len(found) <= most
    assert all(low <= time <= high for time in found)
    assert found == sorted(set(found))


def test_times_beyond_what_python_knows() -> None:
    assert ticks("12000-01-01", "16000-01-01", 5) == ["12000", "13000", "14000", "15000", "16000"]
