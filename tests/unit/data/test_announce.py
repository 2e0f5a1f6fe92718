"""Telling the kernel which rows are needed soon."""

from __future__ import annotations

import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.arrays import Array
from neuro_divergent.data import announce as module
from neuro_divergent.data.announce import announce, is_mapped, reading, resident
from neuro_divergent.data.joined_array import JoinedArray, Pieces

ROWS = 2_000_000
PAGE = mmap.PAGESIZE
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the page cache of Linux")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("announced") / "values.npy"
    np.save(path, np.arange(ROWS, dtype=np.float32))
    return path


def cold(path: Path) -> Array:
    """Return the array, mapped, of which nothing is in memory."""
    array: Array = np.load(path, mmap_mode="r")
    with path.open("rb") as file:  # after the header was read, and much that follows it with it
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if resident(array, np.arange(0, ROWS, 5000), 10) > 0:
        pytest.skip("this file system keeps files in memory")
    return array


def waits_for(claim: Any) -> bool:
    """Whether a claim becomes true within seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if claim():
            return True
        time.sleep(0.01)
    return False


@linux_only
@pytest.mark.parametrize("at_once", [True, False])
def test_announced_rows_come_into_memory_and_others_do_not(
    path: Path, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not at_once:
        monkeypatch.setattr(module, "_at_once", lambda *_: False)
    array = cold(path)
    rows = np.arange(1000, ROWS, 64 * 1024)
    with reading(array, "random"):
        announce(array, rows, 120)
        assert waits_for(lambda: resident(array, rows, 120) == 1)
        assert resident(array, rows + 16 * 1024, 120) == 0


@linux_only
def test_pieces_of_joined_arrays_are_announced(path: Path) -> None:
    array = cold(path)
    zeros = np.zeros(500, np.float32)
    pieces = Pieces.of(np.array([1, 0, 0]), np.array([0, 300_000, 900_000]), np.array([500, 100_000, 100_000]))
    joined = JoinedArray([array, zeros], pieces)
    announce(joined, np.array([0, 1000, 150_000]), 120)
    expected = np.array([300_500, 949_500])
    assert waits_for(lambda: resident(array, expected, 120) == 1)
    assert resident(joined, np.array([0, 1000, 150_000]), 120) == 1
    assert is_mapped(joined)


@pytest.mark.parametrize("array", [None, np.zeros(1000, np.float32), np.zeros((1000, 3), np.float32)])
def test_arrays_in_memory_are_left_alone(array: Array | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(ranges: Array) -> None:
        raise AssertionError("there is nothing to announce")

    monkeypatch.setattr(module, "_advise", refuse)
    announce(array, np.arange(10), 5)
    assert resident(array, np.arange(10), 5) == 1
    assert not is_mapped(array)
    with reading(array, "random"):
        pass


def test_system_without_such_calls_is_no_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_library", lambda: None)
    array = np.load(path, mmap_mode="r")
    announce(array, np.arange(0, ROWS, 1000), 120)
    assert resident(array, np.arange(0, ROWS, 1000), 120) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=60), st.integers(1, 200_000))
def test_ranges_are_the_pages_of_the_rows(path: Path, rows: list[int], size: int) -> None:
    array = np.load(path, mmap_mode="r")
    address = array.__array_interface__["data"][0]
    expected = set()
    for row in rows:
        last = min(row + size, ROWS) - 1
        expected |= set(range((address + 4 * row) // PAGE, (address + 4 * last + 3) // PAGE + 1))
    (ranges,) = module._page_ranges(array, np.array(rows), size)
    begins, lengths = ranges.astype(np.int64).T
    assert (begins % PAGE == 0).all()
    assert (lengths <= 2**17).all()  # the kernel may read no more of one range
    assert (begins[1:] >= (begins + lengths)[:-1]).all()
    found = [page for begin, length in zip(begins, lengths, strict=True) for page in range(begin, begin + length, PAGE)]
    assert [page // PAGE for page in found] == sorted(expected)


def test_reading_is_random_until_the_last_block_ends() -> None:
    told: list[int] = []

    class Map:
        def madvise(self, advice: int) -> None:
            told.append(advice)

    class Mapped:
        _mmap = Map()

    array: Any = Mapped()
    with reading(array, "random"):
        with reading(array, "random"), reading(array, "normal"):
            assert told == [mmap.MADV_RANDOM]
        assert told == [mmap.MADV_RANDOM]
    assert told == [mmap.MADV_RANDOM, mmap.MADV_NORMAL]
