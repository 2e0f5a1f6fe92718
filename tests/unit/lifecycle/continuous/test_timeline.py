"""Times as numbers of rows."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.lifecycle.continuous.timeline import Timeline

CASES = [
    (datetime(2026, 1, 31, 5), "1h", 30, datetime(2026, 2, 1, 11)),
    (date(2026, 1, 31), "me", 1, date(2026, 2, 28)),
    (date(2026, 1, 1), "1mo", -2, date(2025, 11, 1)),
    (date(2026, 1, 2), "bd", 1, date(2026, 1, 5)),
    (7, "1", 5, 12),
]


@pytest.mark.parametrize(("anchor", "frequency", "index", "time"), CASES)
def test_index_and_time_are_inverse_and_survive_storage(
    anchor: object, frequency: str, index: int, time: object
) -> None:
    timeline = Timeline(anchor, Frequency.parse(frequency))
    assert Timeline.from_dict(timeline.to_dict()) == timeline
    assert timeline.time(index) == time
    assert timeline.index(time) == index
    assert timeline.index(anchor) == 0


def test_a_time_between_two_rows_is_refused() -> None:
    with pytest.raises(DataError, match="no multiple of 1h"):
        Timeline(datetime(2026, 1, 1), Frequency.parse("1h")).index(datetime(2026, 1, 1, 0, 30))
