"""Joined arrays are compared with plain concatenated NumPy arrays."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.arrays import Array
from neuro_divergent.data.joined_array import JoinedArray, Pieces, as_joined, interleave, joined


@st.composite
def joins(draw: st.DrawFn) -> tuple[JoinedArray, Array]:
    """Return a joined array over pieces of some arrays, and the same values as one array."""
    shape = draw(st.sampled_from([(), (3,)]))
    arrays = []
    for number in range(draw(st.integers(1, 3))):
        rows = draw(st.integers(1, 20))
        values = np.arange(rows * int(np.prod(shape)), dtype=np.float32).reshape(rows, *shape)
        arrays.append(values + 1000 * (number + 1))
    pieces = []
    for _ in range(draw(st.integers(1, 8))):
        source = draw(st.integers(0, len(arrays) - 1))
        first = draw(st.integers(0, len(arrays[source]) - 1))
        repeats = draw(st.booleans())
        count = draw(st.integers(1, 9 if repeats else len(arrays[source]) - first))
        pieces.append((source, first, count, 0 if repeats else 1))
    columns = [np.array(column) for column in zip(*pieces, strict=True)]
    found = JoinedArray(arrays, Pieces.of(columns[0], columns[1], columns[2], columns[3]))
    expected = np.concatenate(
        [
            arrays[source][first : first + count] if step else np.repeat(arrays[source][first : first + 1], count, 0)
            for source, first, count, step in pieces
        ]
    )
    return found, expected


@given(joins())
def test_all_rows_are_those_of_the_pieces_one_after_another(pair: tuple[JoinedArray, Array]) -> None:
    found, expected = pair
    assert len(found) == len(expected)
    assert found.shape == expected.shape
    assert (found.ndim, found.size, found.nbytes, found.dtype) == (
        expected.ndim, expected.size, expected.nbytes, expected.dtype,
    )  # fmt: skip
    np.testing.assert_array_equal(np.asarray(found), expected)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))
    assert np.asarray(found, np.float64).dtype == np.float64


@given(joins(), st.data())
def test_indexing_gives_what_the_concatenated_array_gives(pair: tuple[JoinedArray, Array], data: st.DataObject) -> None:
    found, expected = pair
    size = len(expected)
    row = data.draw(st.integers(-size, size - 1))
    keys: list[Any] = [
        row,
        slice(data.draw(st.integers(-size, size)), data.draw(st.integers(-size, size))),
        slice(None, None, data.draw(st.sampled_from([-2, -1, 2, 3]))),
        np.array(data.draw(st.lists(st.integers(-size, size - 1), max_size=10)), np.int64),
        np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=6, max_size=6)), np.int64).reshape(2, 3),
        np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size))),
    ]
    for key in keys:
        np.testing.assert_array_equal(found[key], expected[key])
        if expected.ndim == 2:
            np.testing.assert_array_equal(found[key, 1], expected[key, 1])
            np.testing.assert_array_equal(found[key, 1:], expected[key, 1:])


@given(joins(), st.data())
def test_windows_are_those_of_the_concatenated_array(pair: tuple[JoinedArray, Array], data: st.DataObject) -> None:
    found, expected = pair
    size = data.draw(st.integers(1, min(len(expected), 6)))
    rows = np.array(data.draw(st.lists(st.integers(0, len(expected) - size), min_size=1, max_size=12)))
    np.testing.assert_array_equal(found.cut(rows, size), expected[rows[:, None] + np.arange(size)])
    spans = found.spans(rows, size)
    announced = sum(int(counts.sum()) for _, _, counts in spans)
    assert announced <= len(rows) * size
    seen = {tuple(np.ravel(row)) for array, firsts, counts in spans
            for first, count in zip(firsts, counts, strict=True) for row in array[first : first + count]}  # fmt: skip
    assert {
        tuple(np.ravel(row)) for row in expected[rows[:, None] + np.arange(size)].reshape(-1, *expected.shape[1:])
    } == seen


@given(joins(), st.data())
def test_segments_of_segments_are_the_rows_they_name(pair: tuple[JoinedArray, Array], data: st.DataObject) -> None:
    found, expected = pair
    for _ in range(2):
        rows, counts = [], []
        for _ in range(data.draw(st.integers(1, 4))):
            rows.append(data.draw(st.integers(0, len(expected) - 1)))
            counts.append(data.draw(st.integers(1, len(expected) - rows[-1])))
        part = found.segments(np.array(rows), np.array(counts))
        expected = np.concatenate([expected[row : row + count] for row, count in zip(rows, counts, strict=True)])
        np.testing.assert_array_equal(np.asarray(part), expected)
        found = as_joined(part)


@settings(max_examples=50)
@given(joins(), joins(), st.data())
def test_interleaved_segments_come_in_the_given_order(
    one: tuple[JoinedArray, Array], other: tuple[JoinedArray, Array], data: st.DataObject
) -> None:
    if one[1].shape[1:] != other[1].shape[1:]:
        return
    groups, plain = [], []
    for found, expected in (one, other):
        count = data.draw(st.integers(1, 4))
        repeats = data.draw(st.booleans())
        rows = np.array(data.draw(st.lists(st.integers(0, len(expected) - 1), min_size=count, max_size=count)))
        most = 4 if repeats else len(expected) - int(rows.max())
        counts = np.array(data.draw(st.lists(st.integers(0, most), min_size=count, max_size=count)))
        counts[0] = max(counts[0], 1)
        groups.append((found, rows, counts, repeats))
        plain += [
            np.repeat(expected[row : row + 1], length, 0) if repeats else expected[row : row + length]
            for row, length in zip(rows, counts, strict=True)
        ]
    order = np.array(data.draw(st.permutations(range(len(plain)))))
    np.testing.assert_array_equal(
        np.asarray(interleave(groups, order)), np.concatenate([plain[number] for number in order])
    )


def test_pieces_that_follow_each_other_become_the_array_itself() -> None:
    array = np.arange(10.0, dtype=np.float32)
    pieces = Pieces.of(np.zeros(3, np.int64), np.array([0, 4, 7]), np.array([4, 3, 3]))
    assert joined([array], pieces) is array


def test_a_slice_inside_one_piece_is_a_view_and_cannot_be_written() -> None:
    array = np.arange(10.0, dtype=np.float32)
    array.flags.writeable = False
    found = JoinedArray([array, array], Pieces.of(np.array([0, 1]), np.array([0, 0]), np.array([10, 10])))
    view = found[2:6]
    assert np.shares_memory(view, array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    with pytest.raises(TypeError):
        found[0] = 1  # type: ignore[index]


@pytest.mark.parametrize("key", [20, -21, np.array([20]), np.ones(3, np.bool_)])
def test_rows_that_do_not_exist_are_refused(key: Any) -> None:
    array = np.arange(10.0)
    found = JoinedArray([array, array], Pieces.of(np.array([0, 1]), np.array([0, 0]), np.array([10, 10])))
    with pytest.raises(IndexError):
        found[key]
    with pytest.raises(IndexError):
        found.cut(np.array([15]), 6)


def test_pickle_of_mapped_pieces_has_their_place_and_not_their_values(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(100_000, dtype=np.float32))
    array = np.load(tmp_path / "a.npy", mmap_mode="r")
    found = JoinedArray(
        [array, array[500:]], Pieces.of(np.array([0, 1]), np.array([10, 0]), np.array([50_000, 70_000]))
    )
    content = pickle.dumps(found)
    assert len(content) < 2_000
    again = pickle.loads(content)
    assert again.is_mapped
    np.testing.assert_array_equal(np.asarray(again), np.asarray(found))
