"""Numbers as people write them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.cleaning.numbers import NumberStyle, explain_number, find_decimal_commas
from neuro_divergent.data.schema import Schema

POINT, COMMA = NumberStyle(), NumberStyle(",")


@given(
    value=st.decimals(-(10**9), 10**9, places=2),
    marks=st.sampled_from([(".", ","), (",", "."), (",", " "), (".", "'"), (".", "_"), (".", None), (",", None)]),
)
def test_a_number_written_in_a_style_is_read_in_that_style(value: object, marks: tuple[str, str | None]) -> None:
    decimal, thousands = marks
    text = f"{value:,.2f}".replace(",", "t").replace(".", decimal).replace("t", thousands or "")
    assert NumberStyle(decimal, thousands).parse(pl.Series([f" {text} "])).to_list() == [float(str(value))]


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        (POINT, "1,5", None),
        (COMMA, "1.5", None),
        (COMMA, "1,5e3", 1500.0),
        (NumberStyle(".", ","), "12,34", None),  # two digits are no thousands
        (NumberStyle(".", ","), "1,234,5", None),
        (NumberStyle(".", " "), "1\u00a0234\u202f567", 1234567.0),
        (NumberStyle(null_values=("n/a", "-")), " n/a", None),
        (NumberStyle(null_values=("-999",)), "-999.0", None),
        (NumberStyle(",", ".", null_values=("-9.999,5",)), "-9999,50", None),
        (POINT, "nan", float("nan")),
    ],
)
def test_parse(style: NumberStyle, text: str, expected: float | None) -> None:
    assert pl.Series([expected], dtype=pl.Float64).equals(style.parse(pl.Series([text])))


def test_numbers_that_became_text_in_a_mixed_column_keep_their_point() -> None:
    column = pl.Series(["1.5", "2,5", "1.234,5", "1.234", "x"])
    assert NumberStyle(",", has_points=True).parse(column).to_list() == [1.5, 2.5, None, 1.234, None]
    assert NumberStyle(",", ".", has_points=True).parse(column).to_list() == [1.5, 2.5, 1234.5, None, None]


def test_only_texts_that_mean_nothing_are_missing() -> None:
    style = NumberStyle(null_values=("n/a", "-"))
    column = pl.Series(["1", "n/a", "-", "", None, "x", "-3"])
    assert style.find_wrong(column).to_list() == [False, False, False, False, False, True, False]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"y": ["1,5", "2"]}, ("y", 0, "1,5", True, None)),
        ({"y": ["1,234", "2"]}, ("y", 0, "1,234", False, None)),
        ({"y": ["1,234", "0,234"]}, ("y", 1, "0,234", True, None)),  # no thousand begins with 0
        ({"y": ["1,234"], "x": ["1,2345"]}, ("x", 0, "1,2345", True, None)),  # one column decides for all
        ({"y": ["1,5"], "x": ["1.5"]}, ("y", 0, "1,5", True, "1.5")),
        ({"y": ["1,5", "1.5"]}, None),
        ({"y": ["1,5", "a"]}, None),
        ({"y": ["1,234.5"]}, None),
        ({"y": ["1.5", "2"]}, None),
        ({"y": ["a", None]}, None),
    ],
)
def test_decimal_commas_are_found_only_where_every_value_agrees(
    columns: dict[str, list[str | None]], expected: object
) -> None:
    assert find_decimal_commas((pl.Series(name, values) for name, values in columns.items()), POINT) == expected


def test_decimal_commas_are_not_guessed_beside_texts_whose_point_may_stand_between_thousands() -> None:
    columns = [pl.Series("y", ["12,5"]), pl.Series("x", ["1.5", "1.234"])]
    mixed = NumberStyle(has_points=True)
    assert find_decimal_commas(columns, mixed) == ("y", 0, "12,5", True, "1.234")
    assert find_decimal_commas([columns[0], columns[1].head(1)], mixed) == ("y", 0, "12,5", True, None)


@pytest.mark.parametrize(
    ("text", "style", "part"),
    [
        ("1.5", COMMA, 'thousands="."'),
        ("1.5", NumberStyle(",", "."), ", since the point stands between thousands"),
        ("1.234", NumberStyle(",", ".", has_points=True), "either that or 1234"),
        ("1'234.50", POINT, 'thousands="\'"'),
        ("1 234,50", POINT, 'decimal=",", thousands=" "'),
        ("1,5", POINT, 'decimal=","'),
        ("3.5 \u20ac", POINT, "currency sign '\u20ac'"),
        ("5 %", POINT, "percent"),
        ("5,5 kWh", POINT, "unit"),
        ("closed", POINT, 'null_values="closed"'),
    ],
)
def test_a_text_that_is_no_number_is_explained(text: str, style: NumberStyle, part: str) -> None:
    assert part in explain_number(text, style).text


@pytest.mark.parametrize(
    ("field", "value"), [("thousands", "x"), ("separator", "a"), ("separator", '"'), ("decimal", ";")]
)
def test_marks_that_cannot_be_used_are_refused(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match=field):
        Schema(**{field: value})


def test_marks_by_name() -> None:
    assert [Schema(separator=name).separator for name in ("tab", "\\t", ";")] == ["\t", "\t", ";"]
    assert Schema(thousands="\u202f").thousands == " "
