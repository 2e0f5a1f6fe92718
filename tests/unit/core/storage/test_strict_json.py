"""One meaning or none: what Python's reader lets pass is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage import strict_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values, st.sampled_from([None, 1]))
def test_what_is_written_is_read_by_both_readers(value: Any, indent: int | None) -> None:
    content = strict_json.dumps(value, indent=indent)
    assert strict_json.loads(content, "x") == value == json.loads(content)


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_anything_is_read_as_python_reads_it_or_refused(content: bytes | str) -> None:
    try:
        value = strict_json.loads(content, "x.json")
    except UntrustedFileError as error:
        assert str(error).startswith("x.json: ")  # noqa: PT017 - most inputs are refused, and some are fine
    else:
        assert value == json.loads(content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "key 'c' twice"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"[1e999]", "1e999 is too large"),
        (b"[" + b"9" * 5000 + b"]", "an integer of 5,000 digits"),
        (b'"\xff"', "can't decode byte 0xff"),
        (b"\xef\xbb\xbf[]", "BOM"),
        (b'["\\ud800"]', "surrogates not allowed"),
        (b"[1] [2]", "Extra data"),
        (b"", "Expecting value"),
        (b"[" * 101 + b"]" * 101, "nested too deeply"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "nested too deeply"),
    ],
)
def test_what_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(UntrustedFileError, match=f"^runs/state.json: not acceptable JSON .*{reason}"):
        strict_json.loads(content, "runs/state.json")


def test_whole_characters_and_deep_enough_trees_are_fine() -> None:
    assert strict_json.loads(b'["\\ud83d\\ude00"]', "x") == ["\N{GRINNING FACE}"]
    assert strict_json.loads(b"[" * 100 + b"]" * 100, "x")
    assert strict_json.loads(b"[" + b"[]," * 500 + b"1]", "x")
    assert strict_json.loads(b"9" * 4300, "x") == int("9" * 4300)


def test_the_size_is_bounded() -> None:
    assert strict_json.loads(b"[1]", "x", 3) == [1]
    with pytest.raises(UntrustedFileError, match="4 bytes of JSON, at most 3 are read"):
        strict_json.loads(b"[10]", "x", 3)


def test_constants_are_read_where_that_is_asked_for() -> None:
    assert strict_json.loads(b"[Infinity, -Infinity]", "x", constants=True) == [math.inf, -math.inf]
    with pytest.raises(UntrustedFileError, match="too large"):
        strict_json.loads(b"[1e999]", "x", constants=True)


def deep(levels: int) -> list[Any]:
    tree: list[Any] = []
    for _ in range(levels):
        tree = [tree]
    return tree


@pytest.mark.parametrize("value", [math.nan, [math.inf], object(), "\ud800", {(1, 2): 3}, deep(150), deep(100_000)])
def test_what_cannot_be_read_is_not_written(value: Any) -> None:
    with pytest.raises(InputError, match="cannot be written as JSON"):
        strict_json.dumps(value)


def test_finite_or_none_of_nested_values_replaces_only_numbers_that_json_does_not_have() -> None:
    given = {"a": [1.5, math.nan, (math.inf, "nan")], 2: {"b": -math.inf, "c": True, "d": 10**400}, "e": None}
    expected = {"a": [1.5, None, [None, "nan"]], "2": {"b": None, "c": True, "d": 10**400}, "e": None}
    assert strict_json.finite_or_none(given) == expected
