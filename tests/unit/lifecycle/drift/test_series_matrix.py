"""Panels and tables as matrices of series and times."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.drift import series_matrix
from neuro_divergent.lifecycle.drift.series_matrix import SeriesMatrix

START = datetime(2024, 1, 1)
NAN = float("nan")


def rows(name, hours, values):
    return pl.DataFrame(
        {"unique_id": name, "ds": [START + timedelta(hours=hour) for hour in hours], "y": [float(y) for y in values]}
    )


RAGGED = pl.concat([rows("b", [2, 3, 4], [2, 3, 4]), rows("a", [0, 1, 2], [10, 11, 12])])
EXPECTED = [[10, 11, 12, NAN, NAN], [NAN, NAN, 2, 3, 4]]


def test_ragged_panel_and_table_are_the_same_matrix():
    from_panel = SeriesMatrix.from_panel(build_panel(RAGGED))
    from_table = SeriesMatrix.from_table(RAGGED, id="unique_id", time="ds", value="y")
    for matrix in (from_panel, from_table):
        assert matrix.ids.to_list() == ["a", "b"]
        assert matrix.times.to_list() == [START + timedelta(hours=hour) for hour in range(5)]
        np.testing.assert_array_equal(matrix.values, EXPECTED)
        assert matrix.season_length == 24


def test_values_that_were_not_observed_are_missing():
    table = rows("a", range(4), [1, NAN, 3, 4])
    matrix = SeriesMatrix.from_panel(build_panel(table, Schema(missing="mask")))
    np.testing.assert_array_equal(matrix.values, [[1, NAN, 3, 4]])


def test_series_of_different_grids_have_the_times_of_both():
    weeks = pl.DataFrame(
        {
            "unique_id": ["a"] * 3 + ["b"] * 3,
            "ds": [date(2024, 1, day) for day in (1, 8, 15)] + [date(2024, 1, day) for day in (3, 10, 17)],
            "y": [1.0, 2, 3, 4, 5, 6],
        }
    )
    matrix = SeriesMatrix.from_panel(build_panel(weeks, Schema(frequency="1w")))
    np.testing.assert_array_equal(matrix.values, [[1, NAN, 2, NAN, 3, NAN], [NAN, 4, NAN, 5, NAN, 6]])


def test_categorical_names_become_text_and_a_table_without_names_is_one_series():
    table = RAGGED.with_columns(pl.col("unique_id").cast(pl.Categorical))
    assert SeriesMatrix.from_table(table, id="unique_id", time="ds", value="y").ids.to_list() == ["a", "b"]
    single = rows("a", range(3), [1, 2, 3]).drop("unique_id")
    assert SeriesMatrix.from_table(single, id=None, time="ds", value="y").ids.to_list() == ["all"]


def test_covariate_of_a_panel_by_name():
    table = RAGGED.with_columns(price=pl.col("y") * 2)
    panel = build_panel(table, Schema(past=("price",)))
    np.testing.assert_array_equal(SeriesMatrix.from_panel(panel, "price").values, 2 * np.array(EXPECTED))
    with pytest.raises(InputError, match="'cost' is no covariate"):
        SeriesMatrix.from_panel(panel, "cost")


def test_matrix_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(series_matrix, "_MOST_CELLS", 9)
    with pytest.raises(InputError, match="2 series at 5 times"):
        SeriesMatrix.from_table(RAGGED, id="unique_id", time="ds", value="y")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": np.zeros((2, 2))}, "shape"),
        ({"times": pl.Series([3, 2, 1])}, "ascending"),
        ({"times": pl.Series([1, 1, 2])}, "ascending"),
        ({"ids": pl.Series(["a", "a"])}, "once"),
        ({"season_length": 0}, "season_length"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, words):
    parts = {"ids": pl.Series(["a", "b"]), "times": pl.Series([1, 2, 3]), "values": np.zeros((2, 3))}
    SeriesMatrix(**parts)
    with pytest.raises(InputError, match=words):
        SeriesMatrix(**{**parts, **change})
