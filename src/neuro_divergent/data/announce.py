"""Tells the kernel which rows of a mapped array are needed soon, and whether they are in memory.

A page that is read when it is touched is waited for alone, one after another. Pages that are announced are read at the
same time, in the order that suits the disk, while the program does something else. All of it is advice: where a system
does not take it, and for arrays in memory, nothing happens.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Literal

import numpy as np

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.data.joined_array import JoinedArray

_PAGE = mmap.PAGESIZE
_TOGETHER = 1024  # ranges of one system call; the kernel takes no more
_LONGEST = 2**17 // _PAGE  # pages of a range; of a longer one the kernel may read only the beginning
_SAMPLE = 64  # pages that are looked at
_PROCESS_MADVISE = 440  # number of the system call, the same on all processors but Alpha
_WILLNEED = getattr(mmap, "MADV_WILLNEED", 3)
_ADVICE = {"random": getattr(mmap, "MADV_RANDOM", 1), "normal": getattr(mmap, "MADV_NORMAL", 0)}

_turn = threading.Lock()
_random: dict[int, int] = {}  # how many blocks read each map at random, by the id of the map


def announce(array: Array | JoinedArray | None, rows: Ints, size: int) -> None:
    """Have the kernel read ``size`` rows from each row on, without waiting for them.

    Does nothing for an array that is in memory, and where the system does not take such advice.
    """
    for ranges in _page_ranges(array, rows, size):
        _advise(ranges)


def resident(array: Array | JoinedArray | None, rows: Ints, size: int) -> float:
    """Return the fraction of the pages of windows that is in memory, from a sample of them.

    It is 1 for an array in memory. A system that does not tell, or not about files of others, claims 1 as well.
    """
    if len(rows) > _SAMPLE:
        rows = rows[np.arange(_SAMPLE) * len(rows) // _SAMPLE]
    looked_at, found = 0, 0
    for ranges in _page_ranges(array, rows, size):
        pages = ranges[:, 0]
        chosen = pages[np.arange(min(len(pages), _SAMPLE)) * len(pages) // min(len(pages), _SAMPLE)]
        present = [_is_resident(int(page)) for page in chosen]
        looked_at, found = looked_at + len(present), found + sum(present)
    return found / looked_at if looked_at else 1.0


def is_mapped(array: Any) -> bool:
    """Whether an array, or a part of it, is read from disk when it is needed."""
    return bool(maps_of(array))


def maps_of(array: Any) -> list[mmap.mmap]:
    """Return the maps that an array reads from, each once."""
    arrays = array.arrays if isinstance(array, JoinedArray) else (array,)
    maps = (getattr(item, "_mmap", None) for item in arrays)
    return list({id(item): item for item in maps if item is not None}.values())


@contextmanager
def reading(array: Array | JoinedArray | None, how: Literal["random", "normal"]) -> Iterator[None]:
    """Say how an array is read inside the block.

    Random reading stops the kernel from reading what surrounds a page that is touched, up to megabytes; normal reading
    does nothing. Blocks may be nested, and reading is random until the last one that says so ends.
    """
    maps = maps_of(array) if how == "random" else []
    for item in maps:
        _count(item, 1)
    try:
        yield
    finally:
        for item in maps:
            _count(item, -1)


def _count(item: mmap.mmap, change: int) -> None:
    """Add to the blocks that read a map at random, and tell the kernel where that makes a difference."""
    with _turn:
        before = _random.pop(id(item), 0)
        if before + change:
            _random[id(item)] = before + change
        if bool(before) != bool(before + change):
            with suppress(OSError, ValueError, AttributeError):
                item.madvise(_ADVICE["random" if change > 0 else "normal"])


def _page_ranges(array: Array | JoinedArray | None, rows: Ints, size: int) -> Iterator[Array]:
    """Yield for each mapped array the address and the number of bytes of the pages of windows, sorted and merged."""
    spans: list[tuple[Array, Ints, Any]] = []
    if isinstance(array, JoinedArray):
        spans += array.spans(np.clip(rows, 0, max(len(array) - size, 0)), min(size, len(array)))
    elif array is not None and size > 0:
        spans.append((array, rows, size))
    for values, firsts, counts in spans:
        if len(values) and len(firsts) and maps_of(values) and values.strides[0] > 0:
            yield _merged(values, firsts, counts)


def _merged(values: Array, firsts: Ints, counts: Any) -> Array:
    """Return the pages of some rows on from each first one as ``(address, bytes)``, for the kernel."""
    address, width, count = values.__array_interface__["data"][0], values.strides[0], len(values)
    begins = np.clip(firsts, 0, count - 1)
    ends = np.clip(firsts + counts, begins + 1, count)
    first_pages, last_pages = (address + begins * width) // _PAGE, (address + ends * width - 1) // _PAGE
    order = np.argsort(first_pages)
    first_pages, last_pages = first_pages[order], np.maximum.accumulate(last_pages[order])
    heads = np.flatnonzero(np.concatenate([[True], first_pages[1:] > last_pages[:-1] + 1]))
    pages = first_pages[heads]
    lengths = last_pages[np.append(heads[1:], len(first_pages)) - 1] - pages + 1
    if lengths.max() > _LONGEST:
        pieces = -(-lengths // _LONGEST)
        place = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        pages = np.repeat(pages, pieces) + place * _LONGEST
        lengths = np.minimum(np.repeat(lengths, pieces) - place * _LONGEST, _LONGEST)
    return np.stack([pages, lengths], axis=1).astype(np.uint64) * np.uint64(_PAGE)


def _advise(ranges: Array) -> None:
    """Announce ranges, with as few system calls as the system permits."""
    library = _library()
    if library is None:
        return
    for begin in range(0, len(ranges), _TOGETHER):
        part = np.ascontiguousarray(ranges[begin : begin + _TOGETHER])
        if _at_once(os.getpid(), library, part):
            continue
        for address, length in part.tolist():
            if library.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_int(_WILLNEED)):
                return


def _at_once(process: int, library: ctypes.CDLL, ranges: Array) -> bool:
    """Announce ranges with one system call; return whether the system has taken it (Linux from 5.10 on)."""
    descriptor = _own_descriptor(process)
    if descriptor is None:
        return False
    done = library.syscall(
        ctypes.c_long(_PROCESS_MADVISE),
        ctypes.c_int(descriptor),
        ctypes.c_void_p(ranges.ctypes.data),
        ctypes.c_size_t(len(ranges)),
        ctypes.c_int(_WILLNEED),
        ctypes.c_uint(0),
    )
    return bool(done >= 0)


def _is_resident(address: int) -> bool:
    """Whether a page is in memory."""
    library = _library()
    if library is None:
        return True
    found = ctypes.create_string_buffer(1)
    failed = library.mincore(ctypes.c_void_p(address), ctypes.c_size_t(_PAGE), found)
    return bool(failed or found.raw[0] & 1)


@cache
def _own_descriptor(process: int) -> int | None:
    """Return a descriptor of this process, by whose number it is found again: a fork needs its own."""
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return None
    with suppress(OSError):
        return os.pidfd_open(process)
    return None


@cache
def _library() -> ctypes.CDLL | None:
    """Return the C library; ``None`` where it has no such functions."""
    if sys.platform == "win32":
        return None
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None, use_errno=True)
        _ = library.madvise, library.mincore
        if sys.platform.startswith("linux"):
            library.syscall.restype = ctypes.c_long
        return library
    return None
