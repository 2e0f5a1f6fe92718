from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.categories import decode_categories, encode_categories, learn_categories
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema


@pytest.mark.parametrize(
    ("column", "known"),
    [
        (pl.Series(["b", None, "a", "b"]), ["a", "b"]),
        (pl.Series(["b", None, "a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["b", "a"])), ["a", "b"]),
        (pl.Series([20, None, 3, 20], dtype=pl.Int8), [3, 20]),
        (pl.Series([2.5, float("nan"), 1.0, 2.5]), [1.0, 2.5]),
        (pl.Series([True, None, False, True]), [False, True]),
    ],
)
def test_codes_follow_the_sorted_values(column: pl.Series, known: list[Any]) -> None:
    assert learn_categories(column) == known
    codes, unknown = encode_categories(column, known)
    np.testing.assert_array_equal(codes, np.array([2, np.nan, 1, 2], np.float32))
    assert codes.dtype == np.float32
    assert not len(unknown)
    assert decode_categories(codes[[0, 2, 3]], known).to_list() == [known[1], known[0], known[1]]


def test_unknown_values_get_the_slot_for_them() -> None:
    codes, unknown = encode_categories(pl.Series(["a", "z", None]), ["a", "b"])
    np.testing.assert_array_equal(codes, np.array([1, 0, np.nan], np.float32))
    assert unknown.tolist() == [1]
    assert decode_categories(codes[:2], ["a", "b"]).to_list() == ["a", None]


def test_the_same_numbers_in_another_type_are_the_same_categories() -> None:
    for column in (pl.Series(["7", "8"]), pl.Series([7.0, 8.0]), pl.Series([7, 8], dtype=pl.UInt8)):
        assert encode_categories(column, [7, 8])[0].tolist() == [1, 2]
    assert encode_categories(pl.Series([7, 8]), ["7", "8"])[0].tolist() == [1, 2]
    assert encode_categories(pl.Series(["x"]), [7, 8])[1].tolist() == [0]


def test_which_columns_are_categories() -> None:
    frame = pl.DataFrame(
        {
            "ds": [1, 2, 3],
            "y": [1.0, 2.0, 3.0],
            "text": ["b", "a", "b"],
            "code": [30, 10, 30],
            "number": [30, 10, 30],
            "claim": [True, False, True],
        }
    )
    schema = Schema(past=("text", "code", "number", "claim"), categorical="code")
    panel = build_panel(frame, schema)
    assert panel.past == (Feature("text", 3), Feature("code", 3), Feature("number"), Feature("claim"))
    assert panel.categories == {"text": ["a", "b"], "code": [10, 30]}
    assert panel.past_x is not None
    assert panel.past_x.tolist() == [[2, 2, 30, 1], [1, 1, 10, 0], [2, 2, 30, 1]]


def test_a_column_without_categories() -> None:
    frame = pl.DataFrame({"ds": [1, 2], "y": [1.0, 2.0], "c": pl.Series([None, None], dtype=pl.String)})
    panel = build_panel(frame, Schema(past="c", missing="mask"))
    assert panel.past == (Feature("c", 1),)
    allowed = panel.schema.replace(unknown_category="unknown")
    new = build_panel(frame.with_columns(c=pl.lit("x")), allowed, fitted=panel)
    assert new.past_x is not None
    assert new.past_x.tolist() == [[0], [0]]
