"""Places on an axis."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neuro_divergent.reporting.figures.figure import Axis
from neuro_divergent.reporting.svg.scales import NameScale, Scale, even_scale, scale_of, spread, to_numeric


@example([5e-324], 0.0, True)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30), st.sampled_from([0.0, 0.05]), st.booleans())
def test_every_value_has_its_place_in_the_box(values: list[float], room: float, from_zero: bool) -> None:
    array = np.array(values)
    scale = scale_of([array], Axis(), room=room, from_zero=from_zero)
    assert ((scale.place(array) >= 0) & (scale.place(array) <= 1)).all()
    if from_zero:
        assert 0 <= scale.place(0.0)[0] <= 1
    assert all(0 <= round(tick.place, 9) <= 1 for tick in scale.ticks(6))


def test_logarithms_put_equal_ratios_equally_far_apart() -> None:
    scale = scale_of([np.array([0.001, 10.0])], Axis(logarithmic=True))
    np.testing.assert_allclose(scale.place([0.001, 0.01, 0.1, 1, 10]), [0, 0.25, 0.5, 0.75, 1])
    assert np.isnan(scale.place([0.0, -1.0, np.inf, np.nan])).all()
    assert [tick.text for tick in scale.ticks(5)] == ["0.001", "0.01", "0.1", "1", "10"]


@pytest.mark.parametrize(
    ("values", "logarithmic", "kind"),
    [
        ([1, 5], None, "number"), ([1, 11], None, "logarithm"), ([0, 11], None, "number"), ([1, 11], False, "number"),
        ([1, 2], True, "logarithm"), ([-1, 0], True, "number"),
    ],
)  # fmt: skip
def test_what_differs_more_than_tenfold_may_be_logarithmic(
    values: list[float], logarithmic: bool | None, kind: str
) -> None:
    assert scale_of([np.array(values)], Axis(logarithmic=logarithmic)).kind == kind


def test_a_short_logarithmic_axis_has_labels_all_the_same() -> None:
    scale = scale_of([np.array([1.21, 1.88])], Axis(logarithmic=True))
    assert len(scale.ticks(6)) >= 2


def test_times_of_any_kind_mean_the_same() -> None:
    expected = to_numeric(np.array(["2024-05-06T10:00"], dtype="M8[m]"), "time")
    assert expected == 1714989600e6
    for time in (
        datetime(2024, 5, 6, 10),
        datetime(2024, 5, 6, 10, tzinfo=UTC),
        datetime(2024, 5, 6, 12, tzinfo=timezone(timedelta(hours=2))),
        np.datetime64("2024-05-06T10:00:00", "ns"),
    ):
        assert to_numeric(np.array([time]), "time") == expected
    assert np.isnan(to_numeric(np.array(["NaT"], dtype="M8[D]"), "time")).all()


def test_limits_are_kept() -> None:
    assert scale_of([np.array([5.0, 70.0])], Axis(limits=(0.0, 10.0)), room=0.05) == Scale("number", 0.0, 10.0)


def test_one_value_and_none_have_an_axis() -> None:
    for values in ([], [np.nan], [3.0], [0.0], [-2.0], [1e300], [np.inf]):
        scale = scale_of([np.array(values)], Axis(), room=0.05)
        assert scale.low < scale.high
        assert scale.ticks(5)


def test_what_lies_evenly_keeps_its_numbers() -> None:
    assert even_scale(np.array([10, 20, 30])) == Scale("number", 5.0, 35.0)
    assert even_scale(np.array([10, 20, 40])) is None
    assert even_scale(["a", "b"]) is None
    days = even_scale(np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"))
    assert days is not None
    assert days.kind == "time"


def test_names_share_the_axis_equally() -> None:
    scale = NameScale(["a", "b", "c", "d"])
    np.testing.assert_allclose(scale.place([0, 3]), [0.125, 0.875])
    assert [tick.text for tick in scale.ticks(2)] == ["a", "c"]


def test_labels_do_not_touch() -> None:
    ticks = Scale("number", 0.0, 8e5).ticks(9)
    wide = spread(ticks, 400, 150)
    shown = [tick for tick in wide if not tick.is_spare]
    for labels, pixels in ((wide, 400), (shown, 150)):
        gaps = np.diff([tick.place for tick in labels]) * pixels
        assert (gaps > max(len(tick.text) for tick in labels) * 6.6).all()
