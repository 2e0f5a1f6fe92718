from __future__ import annotations

import itertools
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.runs import series_index
from neuro_divergent.runs.series_index import SeriesIndex, index_series


def grouped(ids: pl.Series) -> dict[str, tuple[int, int]]:
    """Return the first row and the number of rows of each id, found row by row."""
    found: dict[str, tuple[int, int]] = {}
    for row, name in enumerate(ids.cast(pl.String).to_list()):
        if name is not None:
            first, count = found.get(name, (row, 0))
            found[name] = (first, count + 1)
    return found


def indexed(ids: pl.Series, size: int, dtype: pl.DataType | None = None) -> SeriesIndex:
    return index_series((ids.slice(begin, size) for begin in range(0, len(ids), size)), dtype)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "values",
    [
        ["a", "a", "b", "c", "c", "c"],
        ["b", "b", "a", "ü", "", "", "c"],
        [None, None, "a", "a", None, "b"],
        [3, 3, 20, 100, 100],
        [-1, 5, 5, 0],
        [date(2024, 1, 1), date(2024, 1, 1), date(2024, 2, 1)],
        [True, False, False],
        [],
    ],
    ids=str,
)
def test_index_of_consecutive_rows_has_the_rows_of_each_series(values: list[Any], size: int) -> None:
    ids = pl.Series("id", values, None if values else pl.String)
    index, wanted = indexed(ids, size), grouped(ids)
    assert index.names.to_list() == list(wanted)
    assert {name: index.find(name) for name in wanted} == wanted
    assert index.find("not there") is None


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_index_of_scattered_rows_has_each_name_once_and_no_rows(size: int) -> None:
    index = indexed(pl.Series(["b", "a", None, "b", "c", "a"]), size)
    assert index.names.to_list() == ["b", "a", "c"]
    assert (index.first, index.count, index.find("a")) == (None, None, None)


def test_index_of_scattered_rows_forgets_names_that_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_index, "_NAMES_BETWEEN_CHECKS", 4)
    ids = pl.Series(np.tile(np.arange(5), 40))
    index = indexed(ids, 3)
    assert index.names.to_list() == list("01234")
    assert index.first is None
    rising = indexed(pl.Series(np.repeat([9, 4, 7, 1, 3, 0, 2], 5)), 3)  # checked in between, and found consecutive
    assert rising.names.to_list() == list("9471302")
    assert rising.find("2") == (30, 5)


def test_ids_that_were_written_as_text_have_the_names_of_their_type() -> None:
    index = indexed(pl.Series(["07", "07", "8"]), 2, pl.Int64())
    assert index.names.to_list() == ["7", "8"]
    assert index.find("7") == (0, 2)


def test_names_that_need_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_index, "_MOST_BYTES", 10_000)
    with pytest.raises(UntrustedFileError, match="take more than 10,000 bytes"):
        indexed(pl.Series([f"{number:0100d}" for number in range(200)]), 50)


def test_index_holds_names_and_not_the_rows_they_were_cut_from() -> None:
    def pieces() -> Any:
        for first in itertools.count(0, 100):
            if first == 1000:
                return
            yield pl.Series(
                np.repeat([f"a name of a series {number:06d}" for number in range(first, first + 100)], 200)
            )

    index = index_series(pieces())
    assert len(index.names) == 1000
    assert index.nbytes < 100_000
