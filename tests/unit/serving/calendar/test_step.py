"""Steps of a frequency on integers, compared with those of tables in polars."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.serving.calendar.step import Step
from neuro_divergent.serving.calendar.time_type import TimeType

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Amman",
    "America/Sao_Paulo", "Europe/Dublin", "Asia/Tehran", "Pacific/Apia",
)  # fmt: skip
UNITS = ("ns", "us", "ms", "s", "m", "h", "d", "bd", "w", "mo", "me", "q", "y")
HOUR = 3600
# Before rules of all zones end in the database of polars, and after those that only one database knows.
FIRST, LAST = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()) for year in (1990, 2036))


def to_polars(times: Any, time_type: TimeType) -> pl.Series:
    """Return integers as a column of their type."""
    if time_type.kind == "integer":
        return pl.Series("t", times, pl.Int64)
    if time_type.kind == "date":
        return pl.Series("t", times, pl.Int32).cast(pl.Date)
    return pl.Series("t", times, pl.Int64).cast(pl.Datetime(time_type.unit, time_type.zone))  # type: ignore[arg-type]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Step, int]:
    """Draw a frequency for times of some type, and one of those times."""
    kind = draw(st.sampled_from(["integer", "date", "datetime", "datetime", "zoned", "zoned"]))
    if kind == "integer":
        return Step(draw(st.integers(1, 1000)), "", TimeType("integer")), draw(st.integers(-(2**40), 2**40))
    if kind == "date":
        unit = draw(st.sampled_from(UNITS[6:]))
        return Step(draw(st.integers(1, 5)), unit, TimeType("date")), draw(st.integers(-100_000, 100_000))
    resolution = draw(st.sampled_from(["ms", "us", "ns"]))
    time_type = TimeType("datetime", resolution, draw(st.sampled_from(ZONES)) if kind == "zoned" else None)
    first = {"ms": 2, "us": 1, "ns": 0}[resolution]
    second = draw(st.integers(FIRST // 1800, LAST // 1800)) * 1800
    fraction = draw(st.sampled_from([0, 0, 1, 250]))
    return Step(draw(st.integers(1, 3)), draw(st.sampled_from(UNITS[first:])), time_type), (
        second * time_type.per_second + fraction
    )


@given(cases(), st.integers(-40, 40))
def test_time_some_steps_away_equals_that_of_polars_or_both_refuse(case: tuple[Step, int], steps: int) -> None:
    step, start = case
    try:
        expected = Frequency(step.count, step.unit).time_at(to_polars([start], step.type), np.array([steps]))  # type: ignore[arg-type]
    except DataError:
        with pytest.raises(DataError):
            step.time_at(np.array([start]), np.array([steps]))
        return
    found = step.time_at(np.array([start]), np.array([steps]))
    assert to_polars(found, step.type).to_list() == expected.to_list()
    assert found.tolist() == expected.to_physical().to_list()


@given(cases(), st.integers(0, 40), st.sampled_from([0, 0, 0, 1, HOUR, 24 * HOUR]))
def test_steps_between_two_times_equal_those_of_polars(case: tuple[Step, int], steps: int, shift: int) -> None:
    step, start = case
    try:
        end = int(step.time_at(np.array([start]), np.array([steps]))[0])
    except DataError:
        return
    end += {"datetime": shift * step.type.per_second, "date": shift // (24 * HOUR), "integer": shift}[step.type.kind]
    expected = Frequency(step.count, step.unit).between(to_polars([start], step.type), to_polars([end], step.type))  # type: ignore[arg-type]
    assert step.between(np.array([start]), np.array([end])).tolist() == expected.tolist()


@given(cases(), st.integers(1, 5))
def test_month_ends_are_found_as_polars_finds_them(case: tuple[Step, int], count: int) -> None:
    step, start = case
    if step.unit not in ("mo", "q", "y"):
        return
    ends = Step(step.count, "me", step.type)
    times = np.concatenate([[start], ends.time_at(np.full(count, start), np.arange(count))])
    for some in (times[:1], times[1:], times):
        frequency = Frequency(step.count, step.unit).ending(to_polars(some, step.type))  # type: ignore[arg-type]
        assert str(step.ending(some)) == str(frequency)


@given(cases(), st.integers(1, 30))
def test_times_after_the_last_equal_those_of_polars(case: tuple[Step, int], count: int) -> None:
    step, last = case
    frequency = Frequency(step.count, step.unit)  # type: ignore[arg-type]
    try:
        expected = frequency.times_after(to_polars([last], step.type), count).to_physical().to_list()
    except DataError:
        with pytest.raises(DataError):
            step.times_after(last, count)
        return
    assert step.times_after(last, count).tolist() == expected


@given(cases())
def test_step_is_read_from_what_a_frequency_writes(case: tuple[Step, int]) -> None:
    step, _ = case
    assert Step.parse(str(Frequency(step.count, step.unit)), step.type) == step  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1h", "date"),
        ("1", "datetime"),
        ("1d", "integer"),
        ("0d", "date"),
        ("-1d", "date"),
        ("1x", "date"),
        ("", "date"),
    ],
)
def test_step_that_times_cannot_have_is_refused(text: str, kind: Any) -> None:
    with pytest.raises(DataError):
        Step.parse(text, TimeType(kind, "us" if kind == "datetime" else None))


def test_times_that_do_not_fit_their_type_are_refused() -> None:
    with pytest.raises(DataError, match="do not fit"):
        Step(2**61, "", TimeType("integer")).times_after(0, 5)
    with pytest.raises(DataError, match="do not fit"):
        Step(10_000, "d", TimeType("date")).times_after(2**31 - 5, 1)


def test_unknown_zone_is_refused_with_what_to_install() -> None:
    with pytest.raises(ImportError, match="tzdata"):
        _ = TimeType("datetime", "us", "Mars/Olympus").clock
