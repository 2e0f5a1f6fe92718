from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.filling import fill
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Policy, Schema


def filled(values: list[float], lengths: list[int], policy: Policy, *, categorical: bool = False) -> list[float]:
    array = np.array(values, np.float32)
    observed = ~np.isnan(array)
    fill(array, np.cumsum([0, *lengths]), np.flatnonzero(~observed), policy, observed=observed, categorical=categorical)
    return array.tolist()


N = float("nan")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("interpolate", [1, 2, 3, 4, 10, 10, 12, 12]),
        ("forward", [1, 1, 1, 4, 10, 10, 12, 12]),
        ("zero", [1, 0, 0, 4, 0, 10, 12, 0]),
        ("mask", [1, 0, 0, 4, 0, 10, 12, 0]),
    ],
)
def test_policies_stay_within_a_series(policy: Policy, expected: list[float]) -> None:
    assert filled([1, N, N, 4, N, 10, 12, N], [4, 4], policy) == expected


def test_interpolation_agrees_with_pandas() -> None:
    random = np.random.default_rng(0)
    values = random.standard_normal(500).astype(np.float32)
    values[random.random(500) < 0.4] = np.nan
    lengths = [100, 150, 250]
    parts = np.split(values, np.cumsum(lengths)[:-1])
    expected = np.concatenate([pd.Series(part).interpolate(limit_direction="both") for part in parts])
    np.testing.assert_allclose(filled(values.tolist(), lengths, "interpolate"), expected, rtol=1e-5, atol=1e-6)


def test_values_near_the_end_of_floats_do_not_overflow() -> None:
    largest = float(np.finfo(np.float32).max)
    assert np.isfinite(filled([-largest, N, largest], [3], "interpolate")).all()


def test_categories_are_not_averaged() -> None:
    assert filled([N, 1, N, 3, N], [5], "interpolate", categorical=True) == [1, 1, 1, 3, 3]
    assert filled([N, 1, N, 3, N], [5], "mask", categorical=True) == [0, 1, 0, 3, 0]


def test_a_series_without_values_becomes_zero() -> None:
    assert filled([1, N, N], [1, 2], "interpolate") == [1, 0, 0]


def holey() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "unique_id": ["A"] * 4 + ["B"] * 3,
            "ds": [0, 1, 2, 5, 10, 11, 12],
            "y": [1.0, None, 3.0, 6.0, 7.0, 8.0, 9.0],
            "x": [1.0, 2.0, None, 6.0, 7.0, 8.0, 9.0],
            "c": ["a", None, "b", "a", "b", "b", "a"],
        }
    )


def rows(panel: Panel) -> list[tuple[object, ...]]:
    assert panel.past_x is not None
    hidden = [True] * len(panel) if panel.mask is None else panel.mask.tolist()
    return list(zip(panel.y.tolist(), hidden, *panel.past_x.T.tolist(), strict=True))


def test_missing_and_gaps_have_policies_of_their_own() -> None:
    panel = build_panel(holey(), Schema(past=("x", "c"), missing="interpolate", gaps="mask"))
    assert panel.offsets.tolist() == [0, 6, 9]
    assert rows(panel)[:6] == [
        (1, True, 1, 1),
        (2, True, 2, 1),  # the category repeats
        (3, True, 3, 2),  # 2 and 6 lie three rows apart on the grid: 2 + (6 - 2) / 4
        (0, False, 2, 0),  # a covariate cannot be hidden: the last observed number, and no category
        (0, False, 2, 0),
        (6, True, 6, 1),
    ]


def test_gaps_can_be_filled_where_missing_values_are_masked() -> None:
    panel = build_panel(holey(), Schema(past=("x", "c"), missing="mask", gaps="interpolate"))
    assert [row[:2] for row in rows(panel)[:6]] == [(1, True), (0, False), (3, True), (4, True), (5, True), (6, True)]


def test_zero() -> None:
    panel = build_panel(holey(), Schema(past=("x", "c"), missing="zero", gaps="zero"))
    assert panel.mask is None
    assert rows(panel)[:6] == [
        (1, True, 1, 1), (0, True, 2, 0), (3, True, 0, 2), (0, True, 0, 0), (0, True, 0, 0), (6, True, 6, 1),
    ]  # fmt: skip


def test_static_holes_take_the_value_of_the_other_rows() -> None:
    frame = holey().with_columns(s=pl.Series([None, 2.0, None, 2.0, 3.0, 3.0, 3.0]))
    panel = build_panel(frame, Schema(static="s", missing="mask", gaps="mask"))
    assert panel.static_x is not None
    assert panel.static_x.tolist() == [[2.0], [3.0]]
    with pytest.raises(
        DataError, match=r"^column 's', series 'A': 2 missing values, first at row 1\. Fill them in the"
    ):
        build_panel(frame.with_columns(y=1.0 * pl.int_range(7)), Schema(static="s", gaps="zero"))


def test_a_covariate_that_was_never_observed() -> None:
    frame = pl.DataFrame({"ds": [1, 2, 3], "y": [1.0, 2.0, 3.0], "x": pl.Series([None] * 3, dtype=pl.Float64)})
    with pytest.raises(DataError, match=r"^column 'x': no observed values, so missing=.interpolate. has nothing"):
        build_panel(frame, Schema(past="x", missing="interpolate"))
    panel = build_panel(frame, Schema(past="x", missing="mask"))
    assert panel.past_x is not None
    assert panel.past_x.ravel().tolist() == [0, 0, 0]


def test_a_gap_that_is_absurd_is_not_filled() -> None:
    frame = pl.DataFrame({"ds": [1, 2, 3, 10**12], "y": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(DataError, match=r"^gap after 3 \(999999999996 steps at 1\); that is too much to fill in"):
        build_panel(frame, Schema(gaps="zero"))


def test_gaps_beyond_64_bits_are_not_added_up() -> None:
    far = 2**61
    frame = pl.DataFrame({"unique_id": np.repeat(range(9), 3), "ds": [-far, 1 - far, far] * 9, "y": np.arange(27.0)})
    with pytest.raises(DataError, match="too much to fill in"):
        build_panel(frame, Schema(gaps="zero", frequency=1))
