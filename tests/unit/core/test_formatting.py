"""Numbers, sizes, durations and times as text."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.formatting import (
    format_bytes,
    format_count,
    format_distinct,
    format_duration,
    format_number,
    format_p_value,
    format_percent,
    format_time,
    format_timestamp,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12_345.6, "12,346"), (1_500_000, "1.5M"), (2e9, "2G"), (0.00123, "0.00123"), (0, "0"), (NAN, "n/a"),
        (1.0, "1"), (9.7294, "9.729"), (-103.25, "-103.2"), (1e-8, "1e-08"), (None, "n/a"), (1e15, "1e+15"),
        (0.12345, "0.123"), (float("inf"), "inf"),
    ],
)  # fmt: skip
def test_number_has_up_to_four_digits(value: float | None, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(-1e9, 1e9), st.floats(1e-4, 1e9))
def test_different_numbers_have_different_texts(low: float, size: float) -> None:
    values = [low, low + size / 2, low + size]
    texts = format_distinct(values)
    assert len(set(texts)) == len(set(values))


def test_count_has_its_plural() -> None:
    assert format_count(1, "row") == "1 row"
    assert format_count(1200, "row") == "1,200 rows"
    assert format_count(0, "row") == "0 rows"
    assert format_count(3, "series", "series") == "3 series"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.256, "26 %"), (1.0, "100 %"), (0.0, "0 %"), (-0.5, "-50 %"), (0.0031, "0.31 %"), (-0.0031, "-0.31 %"),
        (0.00001, "below 0.01 %"), (None, "n/a"), (NAN, "n/a"), (12.0, "1200 %"),
    ],
)  # fmt: skip
def test_percent_of_a_small_fraction_keeps_two_digits(fraction: float | None, text: str) -> None:
    assert format_percent(fraction) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.2, "0.2"), (0.00049, "0.00049"), (1e-9, "< 0.0001"), (None, ""), (1.0, "1")]
)
def test_p_value_below_the_limit_is_not_written_out(value: float | None, text: str) -> None:
    assert format_p_value(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"), (5, "5 bytes"), (999, "999 bytes"), (1_234, "1.23 kB"), (999_999, "1 MB"),
        (56_789_000, "56.8 MB"), (840_000_000, "840 MB"), (3e9, "3 GB"), (1.5e12, "1.5 TB"), (2**50, "1,126 TB"),
    ],
)  # fmt: skip
def test_bytes_are_in_the_unit_that_suits(size: float, text: str) -> None:
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3.0, "0 s"), (0.0, "0 s"), (0.001, "below 0.01 s"), (0.25, "0.25 s"), (8.94, "8.9 s"), (9.97, "10 s"),
        (90, "90 s"), (150, "2.5 min"), (7200, "2 h"), (47 * 3600, "47 h"), (400 * 86400, "400 d"),
    ],
)  # fmt: skip
def test_duration_is_in_the_largest_unit_that_it_has_two_of(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_timestamp_is_of_utc_and_empty_for_what_is_none() -> None:
    assert format_timestamp(0) == "1970-01-01 00:00:00 UTC"
    assert [format_timestamp(moment) for moment in (None, -1.0, 1e300, NAN)] == [""] * 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"), (date(2024, 3, 1), "2024-03-01"), (datetime(2024, 3, 1), "2024-03-01"),
        (datetime(2024, 3, 1, 5, tzinfo=UTC), "2024-03-01 05:00"), (datetime(2024, 3, 1, 5, 30, 7), "2024-03-01 05:30:07"),  # noqa: E501
    ],
)  # fmt: skip
def test_time_leaves_out_seconds_and_hours_that_are_zero(value: object, text: str) -> None:
    assert format_time(value) == text
