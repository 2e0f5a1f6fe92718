from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.data.cleaning.frequency import Frequency, extremes, infer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h", "1h"), ("H", "1h"), ("h", "1h"), ("15m", "15m"), ("15min", "15m"), ("T", "1m"), ("30s", "30s"),
        ("1d", "1d"), ("D", "1d"), ("bd", "1bd"), ("B", "1bd"), ("W", "1w"), ("W-SUN", "1w"), ("1mo", "1mo"),
        ("MS", "1mo"), ("M", "1me"), ("ME", "1me"), ("me", "1me"), ("3mo", "3mo"), ("1q", "1q"), ("QS-OCT", "1q"),
        ("Q", "3me"), ("1y", "1y"), ("YS", "1y"), ("Y", "12me"), ("100ms", "100ms"), (1, "1"),
        ("7", "7"), (" 2 h ", "2h"),
    ],
)  # fmt: skip
def test_parse(text: str | int, expected: str) -> None:
    frequency = Frequency.parse(text)
    assert str(frequency) == expected
    assert Frequency.parse(str(frequency)) == frequency
    assert Frequency.parse(frequency) is frequency
    assert hash(frequency) == hash(Frequency.parse(expected))


@pytest.mark.parametrize("text", ["", "hourly!", "1.5h", "0d", 0, -3, "-1h", True, "1 fortnight", "9999y", 10**19])
def test_parse_refuses(text: str | int) -> None:
    with pytest.raises(ConfigError, match=r"^frequency: "):
        Frequency.parse(text)


def test_parse_suggests() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'mo'"):
        Frequency.parse("1mon")


@pytest.mark.parametrize(
    ("text", "season"),
    [
        ("1s", 60), ("1m", 60), ("5m", 288), ("15m", 96), ("30m", 48), ("1h", 24), ("6h", 4), ("1d", 7), ("2d", 1),
        ("bd", 5), ("1w", 52), ("1mo", 12), ("me", 12), ("1q", 4), ("3me", 4), ("1y", 1), ("12me", 1), (1, 1), (5, 1),
    ],
)  # fmt: skip
def test_season_length(text: str | int, season: int) -> None:
    assert Frequency.parse(text).season_length == season


PANDAS = [
    ("15m", "15min"), ("1h", "h"), ("1d", "D"), ("bd", "B"), ("1w", "7D"), ("1mo", "MS"), ("me", "ME"), ("1q", "QS"),
    ("3me", "QE"), ("1y", "YS"), ("12me", "YE"), ("2mo", "2MS"),
]  # fmt: skip


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize(("ours", "theirs"), PANDAS)
def test_times_agree_with_pandas(ours: str, theirs: str, unit: str) -> None:
    expected = pl.Series(pd.date_range("2019-01-01", periods=40, freq=theirs).to_numpy()).cast(pl.Datetime(unit))  # type: ignore[arg-type]
    frequency = Frequency.parse(ours)
    assert frequency.times_after(expected.slice(0, 1), 39).to_list() == expected.slice(1).to_list()
    assert frequency.time_at(expected.new_from_index(39, 40), np.arange(-39, 1)).to_list() == expected.to_list()
    assert frequency.time_at(expected, np.zeros(40, np.int64)).dtype == expected.dtype
    assert infer(expected, np.array([0, 40])) == Frequency.parse("1y" if ours == "12me" else ours)
    assert (frequency.between(expected.slice(0, 39), expected.slice(1)) == 1).all()


@pytest.mark.parametrize(("ours", "theirs"), [pair for pair in PANDAS if pair[0] not in ("15m", "1h")])
def test_dates_agree_with_pandas(ours: str, theirs: str) -> None:
    expected = pl.Series(pd.date_range("2019-01-01", periods=40, freq=theirs).to_numpy()).cast(pl.Date)
    frequency = Frequency.parse(ours)
    after = frequency.times_after(expected.slice(0, 1), 39)
    assert after.dtype == pl.Date
    assert after.to_list() == expected.slice(1).to_list()
    assert infer(expected, np.array([0, 40])) == Frequency.parse("1y" if ours == "12me" else ours)


@pytest.mark.parametrize(("ours", "theirs"), [("1h", "h"), ("1d", "D"), ("1w", "7D"), ("1mo", "MS"), ("bd", "B")])
def test_daylight_saving_time_is_no_gap(ours: str, theirs: str) -> None:
    """Hours are apart in UTC and days by the wall clock, across both changes of the clock."""
    days = pd.date_range("2024-01-01", periods=400, freq=theirs, tz="Europe/Berlin")
    expected = pl.Series(days.tz_convert("UTC").tz_localize(None).to_numpy())
    expected = expected.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    frequency = Frequency.parse(ours)
    assert infer(expected, np.array([0, 400])) == frequency
    assert (frequency.between(expected.slice(0, 399), expected.slice(1)) == 1).all()
    after = frequency.times_after(expected.slice(0, 1), 399)
    assert after.dtype == expected.dtype
    assert after.to_list() == expected.slice(1).to_list()


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.Int64, pl.UInt16])
def test_whole_numbers(dtype: type[pl.DataType]) -> None:
    times = pl.Series("t", [3, 8, 13], dtype=dtype)
    assert infer(times, np.array([0, 3])) == Frequency(5, "")
    after = Frequency(5, "").times_after(times.slice(2), 2)
    assert after.to_list() == [18, 23]
    assert after.dtype == dtype
    assert after.name == "t"


def test_times_that_do_not_fit_their_type() -> None:
    with pytest.raises(DataError, match="column 't': the times to come do not fit its type Int8"):
        Frequency(1, "").times_after(pl.Series("t", [127], dtype=pl.Int8), 1)


def test_series_major_order() -> None:
    last = pl.Series("ds", [date(2024, 1, 31), date(2024, 2, 29)])
    after = Frequency.parse("me").times_after(last, 2)
    assert after.to_list() == [date(2024, 2, 29), date(2024, 3, 31), date(2024, 3, 31), date(2024, 4, 30)]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ([1, 2, 3, 5, 6, 7], "1d"),  # a gap
        ([1, 3, 7, 9, 17, 19, 25, 29], "2d"),  # nothing is common, so what divides all of it
        ([1, 8, 15], "1w"),
        ([1, 29, 57], "4w"),
    ],
)
def test_infer_with_gaps(days: list[int], expected: str) -> None:
    times = pl.Series([date(2023, 12, 31) + timedelta(days=day) for day in days])
    assert infer(times, np.array([0, len(times)])) == Frequency.parse(expected)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["2024-01-15", "2024-02-15", "2024-03-15"], "1mo"),
        (["2023-01-31", "2023-03-31", "2023-05-31", "2023-07-31"], "2me"),
        (["2021-02-28", "2022-02-28", "2023-02-28", "2024-02-28", "2025-02-28"], "1y"),  # not always the end of a month
        (["2020-12-31", "2021-12-31", "2022-12-31"], "1y"),
        (["2024-02-01", "2024-03-01"], "1mo"),
        (["2024-01-01", "2024-04-01", "2024-07-01"], "1q"),
        (["2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01"], "1mo"),  # a gap
        (["2024-01-05", "2024-01-08", "2024-01-09"], "1bd"),
    ],
)
def test_infer_calendar(times: list[str], expected: str) -> None:
    series = pl.Series(times).str.to_date()
    assert infer(series, np.array([0, len(series)])) == Frequency.parse(expected)


def test_infer_ignores_the_borders_of_series() -> None:
    times = pl.Series([datetime(2024, 1, 1), datetime(2024, 1, 2), datetime(2030, 1, 1), datetime(2030, 1, 2)])
    assert infer(times, np.array([0, 2, 4])) == Frequency(1, "d")
    assert infer(times, np.array([0, 1, 2, 3, 4])) is None
    assert extremes(times, np.array([0, 2, 4])) == (86_400_000_000, 86_400_000_000)
    assert extremes(times.reverse(), np.array([0, 2, 4])) == (-86_400_000_000, -86_400_000_000)


def test_between_counts_steps_and_marks_what_is_between_two() -> None:
    start = datetime(2024, 1, 31, 12)
    earlier = pl.Series([start] * 4)
    later = pl.Series(
        [datetime(2024, 2, 29, 12), datetime(2024, 4, 30, 12), datetime(2024, 3, 30, 12), datetime(2024, 2, 29)]
    )
    assert Frequency.parse("me").between(earlier, later).tolist() == [1, 3, -1, -1]
    assert Frequency.parse("1h").between(earlier, later).tolist() == [696, 2160, 1416, 684]
    assert Frequency.parse("7h").between(earlier, later)[0] == -1


def test_given_months_become_month_ends() -> None:
    ends = pl.Series([date(2024, 1, 31), date(2024, 2, 29)])
    assert Frequency.parse("1mo").ending(ends) == Frequency(1, "me")
    assert Frequency.parse("1q").ending(ends) == Frequency(3, "me")
    assert Frequency.parse("1mo").ending(ends.dt.truncate("1mo")) == Frequency(1, "mo")
    assert Frequency.parse("1d").ending(ends) == Frequency(1, "d")


def test_times_beyond_64_bits_are_refused_instead_of_beginning_again() -> None:
    last = pl.Series("ds", [datetime(2262, 4, 11)]).cast(pl.Datetime("ns"))
    assert Frequency(1, "h").times_after(last, 20).is_sorted()
    with pytest.raises(DataError, match="the times to come do not fit its type"):
        Frequency(1, "h").times_after(last, 30)
    with pytest.raises(DataError, match="the times to come do not fit its type"):
        Frequency(2**61, "").times_after(pl.Series("ds", [2**61]), 4)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (datetime(2024, 3, 30, 2, 30), "02:30 on 2024-03-31 does not exist in Europe/Berlin"),
        (datetime(2024, 10, 26, 2, 30), "02:30 on 2024-10-27 is ambiguous in Europe/Berlin"),
        (datetime(2024, 3, 30, 4, 30), ""),
    ],
)
def test_a_night_whose_clocks_jump_is_explained(before: datetime, expected: str) -> None:
    time = pl.Series("ds", [before]).dt.replace_time_zone("Europe/Berlin")
    assert Frequency(1, "d").explain_jump(time) == expected
    assert Frequency(24, "h").explain_jump(time) == ""


def test_a_month_that_ends_in_such_a_night_gives_an_error_of_ours() -> None:
    time = pl.Series("ds", [datetime(2024, 2, 29, 2, 30)]).dt.replace_time_zone("Europe/Berlin")
    with pytest.raises(DataError, match=r"column 'ds': .*non-existent in time zone 'Europe/Berlin'.* to UTC"):
        Frequency(1, "me").times_after(time, 2)
