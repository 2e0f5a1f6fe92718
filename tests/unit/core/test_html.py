"""Pieces of HTML for notebooks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core import html


@given(st.text(), st.text())
def test_any_text_is_escaped_and_gives_well_formed_pieces(one: str, other: str) -> None:
    page = html.card(one, other, html.facts([(one, other)]), html.table([one, other], [[other, one]]))
    page += html.details(one, html.paragraph(other)) + html.sparkline([1, 2], one)
    ElementTree.fromstring(f"<page>{page}</page>")


def test_text_is_escaped_once_and_html_is_left_as_it_is() -> None:
    assert html.text("a < b") == "a &lt; b"
    assert html.text(html.text("a < b")) == "a &lt; b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""), (True, "yes"), (1234567, "1,234,567"), (0.123456, "0.123"), (float("nan"), ""),
        (datetime(2024, 1, 2), "2024-01-02"), ("a\x00b\n c", "a\ufffdb c"), ("x" * 300, "x" * 199 + "…"),
    ],
)  # fmt: skip
def test_values_are_shown_as_people_read_them(value: object, shown: str) -> None:
    assert html.text(value) == shown


def test_a_long_table_says_how_many_rows_are_left_out() -> None:
    page = html.table(["n"], [[number] for number in range(25)], most=20)
    assert page.count("<tr>") == 21
    assert "5 more rows" in page


def test_a_sparkline_goes_through_the_first_and_the_last_value_and_leaves_out_what_is_missing() -> None:
    points = ElementTree.fromstring(html.sparkline([3.0, None, float("nan"), *range(400)], "loss"))[0].get("points")
    assert points is not None
    places = [tuple(map(float, point.split(","))) for point in points.split()]
    assert len(places) <= 120
    assert places[-1][1] == min(height for _, height in places)  # the largest value is at the top
    assert html.sparkline([1.0, None], "loss") == ""
