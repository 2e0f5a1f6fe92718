from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.data.cleaning.calendar import NAMES, calendar_features, check_times
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema


def features(times: pl.Series, *names: str) -> list[list[float]]:
    values = np.full((len(times), len(names)), np.nan, np.float32)
    calendar_features(times, names, values)
    return values.T.tolist()


def test_first_and_last_values_are_the_ends_of_the_range() -> None:
    times = pl.Series([datetime(2024, 1, 1), datetime(2024, 12, 29, 23, 59, 59)])
    names = ("second", "minute", "hour", "minute_of_day", "day_of_week", "month", "quarter", "is_weekend")
    assert features(times, *names) == [[-0.5, 0.5]] * len(names)


@pytest.mark.parametrize("name", NAMES)
def test_every_feature_stays_in_its_range(name: str) -> None:
    times = pl.Series([datetime(2020, 1, 1) + timedelta(seconds=59_817 * n) for n in range(5000)])
    (values,) = features(times, name)
    limit = 1.0 if name.endswith(("_sin", "_cos")) else 0.5
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= limit
    assert np.ptp(values) > limit


def test_agrees_with_the_standard_library() -> None:
    times = [datetime(2023, 1, 1) + timedelta(hours=7 * n) for n in range(2000)]
    found = features(pl.Series(times), "day_of_week", "day_of_year", "week", "day_of_month")
    np.testing.assert_allclose(found[0], [t.weekday() / 6 - 0.5 for t in times], atol=1e-6)
    np.testing.assert_allclose(found[1], [(t.timetuple().tm_yday - 1) / 365 - 0.5 for t in times], atol=1e-6)
    np.testing.assert_allclose(found[2], [(t.isocalendar().week - 1) / 52 - 0.5 for t in times], atol=1e-6)
    np.testing.assert_allclose(found[3], [(t.day - 1) / 30 - 0.5 for t in times], atol=1e-6)


def test_waves_go_round_once() -> None:
    times = pl.Series([datetime(2024, 1, 1, hour) for hour in range(24)])
    sine, cosine = features(times, "hour_sin", "hour_cos")
    np.testing.assert_allclose(sine, np.sin(2 * np.pi * np.arange(24) / 24), atol=1e-6)
    np.testing.assert_allclose(cosine, np.cos(2 * np.pi * np.arange(24) / 24), atol=1e-6)


def test_claims() -> None:
    times = pl.Series([date(2024, 2, 1), date(2024, 2, 29), date(2023, 2, 28), date(2024, 2, 3)])
    assert features(times, "is_month_start", "is_month_end", "is_weekend") == [
        [0.5, -0.5, -0.5, -0.5],
        [-0.5, 0.5, 0.5, -0.5],
        [-0.5, -0.5, -0.5, 0.5],
    ]


def test_zoned_times_count_by_their_wall_clock() -> None:
    times = pl.Series([datetime(2024, 7, 1, 23)]).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    assert features(times, "hour") == [[pytest.approx(8 / 23 - 0.5)]]


def test_calendar_features_come_last_and_follow_filled_gaps() -> None:
    frame = pl.DataFrame(
        {"ds": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3), date(2024, 1, 6)], "y": range(4), "x": range(4)}
    )
    panel = build_panel(frame, Schema(future="x", calendar=("day_of_week", "is_weekend"), gaps="mask"))
    assert [feature.name for feature in panel.future] == ["x", "day_of_week", "is_weekend"]
    assert panel.future_x is not None
    np.testing.assert_allclose(panel.future_x[:, 1], np.arange(6) / 6 - 0.5, atol=1e-6)
    assert panel.future_x[:, 2].tolist() == [-0.5] * 5 + [0.5]


@pytest.mark.parametrize(
    ("number", "dtype", "shown"),
    [
        (2**62, pl.Datetime("ms"), "a time"),
        (-(2**63), pl.Datetime("us", "UTC"), "a time"),
        (2**62, pl.Datetime("us"), "+148108-07-06 14:00:27.387904"),
        (2**31 - 1, pl.Date, "a time"),
        (-(10**9), pl.Datetime("ms", "Europe/Berlin"), None),
    ],
)
def test_times_beyond_every_calendar_are_refused(number: int, dtype: pl.DataType, shown: str | None) -> None:
    times = pl.Series("ds", [0, number]).cast(pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype)
    if shown is None:
        assert check_times(times, DataError) is times
        return
    with pytest.raises(DataError) as caught:
        check_times(times, DataError)
    assert str(caught.value) == f"row 2, column 'ds': {shown} outside supported range, the years 1000 to 2999"


@pytest.mark.parametrize(
    ("written", "date_format", "expected"),
    [
        (["31/03/2024", "01/04/2024"], "%d/%m/%Y", [date(2024, 3, 31), date(2024, 4, 1)]),
        (["03/31/24", "04/01/24"], "%m/%d/%y", [date(2024, 3, 31), date(2024, 4, 1)]),
        ([20240331, 20240401], "%Y%m%d", [date(2024, 3, 31), date(2024, 4, 1)]),
        ([202312, 202401], "%Y%m", [date(2023, 12, 1), date(2024, 1, 1)]),
        (["2024/03", "2024/04"], "%Y/%m", [date(2024, 3, 1), date(2024, 4, 1)]),
        ([2023, 2024], "%Y", [date(2023, 1, 1), date(2024, 1, 1)]),
        (["5 Mar 2024", "6 Mar 2024"], "%d %b %Y", [date(2024, 3, 5), date(2024, 3, 6)]),
        (["2024-066", "2024-067"], "%Y-%j", [date(2024, 3, 6), date(2024, 3, 7)]),
        (["31.03.2024 15:00"], "%d.%m.%Y %H:%M", [datetime(2024, 3, 31, 15)]),
        (["31.03.2024 03:00:01.5 PM"], "%d.%m.%Y %I:%M:%S.%f %p", [datetime(2024, 3, 31, 15, 0, 1, 500_000)]),
    ],
)
def test_dates_are_read_as_they_are_said_to_be_written(
    written: list[str], date_format: str, expected: list[date]
) -> None:
    schema = Schema(date_format=date_format)  # It must be one that the schema accepts.
    assert check_times(pl.Series("ds", written), DataError, schema.date_format).to_list() == expected


@pytest.mark.parametrize("numbers", [range(200_001, 200_013), range(199_990, 200_040), range(190_001, 210_001, 100)])
def test_counters_that_could_be_months_of_one_year_or_of_no_month_stay_integers(numbers: range) -> None:
    times = pl.Series("ds", numbers)
    assert check_times(times, DataError).equals(times)


def test_dates_with_an_offset_become_utc() -> None:
    times = check_times(pl.Series("ds", ["31/03/2024 02:00 +0200"]), DataError, "%d/%m/%Y %H:%M %z")
    assert times.dtype == pl.Datetime("us", "UTC")
    assert times.dt.replace_time_zone(None).to_list() == [datetime(2024, 3, 31)]


@pytest.mark.parametrize("date_format", ["%d/%m", "%q", "", "%Y %", "%G-%V"])
def test_what_is_no_date_format_is_refused(date_format: str) -> None:
    with pytest.raises(ConfigError, match="date_format: "):
        Schema(date_format=date_format)


@pytest.mark.parametrize(
    ("written", "formats", "expected"),
    [
        (["31.12.2024", " 2025-01-01"], ("%d.%m.%Y", "%Y-%m-%d"), [date(2024, 12, 31), date(2025, 1, 1)]),
        (
            ["2024-12-31", "2025-01-01 10:30"],
            ("%Y-%m-%d", "%Y-%m-%d %H:%M"),
            [datetime(2024, 12, 31), datetime(2025, 1, 1, 10, 30)],
        ),
        (["05/05/2024", "13/05/2024"], ("%m/%d/%Y", "%d/%m/%Y"), [date(2024, 5, 5), date(2024, 5, 13)]),
    ],
)
def test_each_time_may_have_one_of_several_formats(
    written: list[str], formats: tuple[str, ...], expected: list[date]
) -> None:
    assert (
        check_times(pl.Series("ds", written), DataError, Schema(date_format=formats).date_format).to_list() == expected
    )


@pytest.mark.parametrize(
    ("written", "formats", "message"),
    [
        (
            ["x", "2025-01-01"],
            ("%Y-%m-%d", "%d.%m.%Y"),
            "row 1, column 'ds': 'x' is not written as '%Y-%m-%d' or '%d.%m.%Y'",
        ),
        (["2025-01-01"], ("%Y-%m-%d", "%Y-%m-%d%z"), "some have a zone and some have none"),
        (["1/2/24", "2/13/24"], None, "the month is first, as row 2 ('2/13/24') shows"),
        (["2024-01-01", "1/2/24", "x"], None, "row 2, column 'ds': '1/2/24' is ambiguous"),
        (["1/2/2024 10:00"], None, "is ambiguous: is the day first or the month?"),
        (["Jan 2024"], None, 'such as date_format="%b %Y"'),
        (["March 3, 2024"], None, 'such as date_format="%B %d, %Y"'),
        (["2024-01-01", "1/2/2024"], None, "'1/2/2024' is ambiguous: is the day first or the month?"),
        (["2024/01/31"], None, 'such as date_format="%Y/%m/%d"'),
        (["2024/02/31"], None, "is not a date that can be read without guessing"),
        (["2024-01-01", "Total"], None, "'Total' is not a date. If it is a total"),
    ],
)
def test_what_has_none_of_the_formats_is_refused(
    written: list[str], formats: tuple[str, ...] | None, message: str
) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        check_times(pl.Series("ds", written), DataError, formats)


def test_weeks_of_iso_8601_are_their_mondays() -> None:
    first = date(2018, 12, 31)
    mondays = [first + timedelta(weeks=n) for n in range(500)]
    for form in ("{}-W{:02d}", "{}W{:02d}"):
        texts = [form.format(*day.isocalendar()[:2]) for day in mondays]
        assert check_times(pl.Series("t", texts), DataError).to_list() == mondays
    with pytest.raises(DataError, match="row 2, column 't': '2021-W53' is not a date"):
        check_times(pl.Series("t", ["2020-W53", "2021-W53"]), DataError)


@pytest.mark.parametrize("form", ["{0}-Q{1}", "{0}Q{1}", "{0} q{1}", "Q{1} {0}", "Q{1}-{0}", "q{1}{0}"])
def test_quarters_are_their_first_days(form: str) -> None:
    texts = [form.format(2019 + n // 4, n % 4 + 1) for n in range(12)]
    expected = [date(2019 + n // 4, n % 4 * 3 + 1, 1) for n in range(12)]
    table = pl.DataFrame({"ds": texts, "y": range(12)})
    assert check_times(table["ds"], DataError).to_list() == expected
    assert str(build_panel(table).frequency) == "1q"
    with pytest.raises(DataError, match="row 13"):
        check_times(pl.Series("t", [*texts, form.format(2030, 5)]), DataError)


@pytest.mark.parametrize(
    ("first", "last", "form"),
    [
        ("1/1/2024 9:05 AM", "1/31/2024 11:00 PM", "%m/%d/%Y %I:%M %p"),
        ("01.01.2024 09:05:00am", "31.01.2024 11:00:00pm", "%d.%m.%Y %I:%M:%S%p"),
    ],
)
def test_a_clock_of_twelve_hours_is_explained_with_the_format_that_reads_it(first: str, last: str, form: str) -> None:
    times = pl.Series("t", [first, last])
    with pytest.raises(DataError, match=re.escape(f'date_format="{form}"')) as caught:
        check_times(times, DataError)
    assert caught.value.changes == {"date_format": form}
    expected = [datetime(2024, 1, 1, 9, 5), datetime(2024, 1, 31, 23)]
    assert check_times(times, DataError, form).to_list() == expected
