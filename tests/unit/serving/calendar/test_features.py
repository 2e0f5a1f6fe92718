"""Calendar features of integers, compared with those of tables in polars."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning import calendar
from neuro_divergent.serving.calendar.features import NAMES, calendar_features, check_names
from neuro_divergent.serving.calendar.time_type import TimeType
from tests.unit.serving.calendar.test_step import FIRST, LAST, ZONES, to_polars


def test_there_are_the_same_features_as_for_tables() -> None:
    assert NAMES == calendar.NAMES


@given(
    st.sampled_from(["ms", "us", "ns"]),
    st.sampled_from([None, *ZONES]),
    st.lists(st.integers(FIRST, LAST), min_size=1, max_size=20),
)
def test_features_of_datetimes_equal_those_of_polars(unit: str, zone: str | None, seconds: list[int]) -> None:
    time_type = TimeType("datetime", unit, zone)
    times = np.array(seconds) * time_type.per_second
    expected = np.empty((len(times), len(NAMES)), np.float32)
    calendar.calendar_features(to_polars(times, time_type), NAMES, expected)
    np.testing.assert_allclose(calendar_features(times, NAMES, time_type), expected, rtol=0, atol=1e-7)


@given(st.lists(st.integers(-350_000, 370_000), min_size=1, max_size=20))
def test_features_of_dates_equal_those_of_polars(days: list[int]) -> None:
    names = tuple(name for name in NAMES if not name.startswith(("second", "minute", "hour")))
    time_type, times = TimeType("date"), np.array(days)
    expected = np.empty((len(times), len(names)), np.float32)
    calendar.calendar_features(to_polars(times, time_type), names, expected)
    np.testing.assert_allclose(calendar_features(times, names, time_type), expected, rtol=0, atol=1e-7)


def test_unknown_features_and_those_of_integers_are_refused() -> None:
    with pytest.raises(DataError, match="Did you mean 'hour'"):
        check_names(("huor",), TimeType("datetime", "us"))
    with pytest.raises(DataError, match="times are integers"):
        check_names(("hour",), TimeType("integer"))
