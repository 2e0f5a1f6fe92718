"""Reads the pages of coming windows of a mapped panel while the batches before them are used.

The order of windows is computed, so the rows of coming batches are known. Announcing pages takes the processor a few
milliseconds for 1,024 windows, most of it in the kernel: a thread does it. A panel whose pages are in memory already
is left alone, and looked at again from time to time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.available_memory import available_memory
from neuro_divergent.data.announce import reading
from neuro_divergent.data.batcher import WindowBatcher

Place = tuple[Ints, Ints]  # series and first rows of the windows of a batch

_TOGETHER = 1024  # windows that are announced at once, at least
_GROUPS = 8  # groups of windows that are announced ahead: 8,192 windows, as long as they take less than
_BYTES = 2**26
_PIECE = 2**15  # rows of a block that are announced as one piece
_OFTEN = 32  # groups after which is looked whether pages are in memory
_FEW_FAULTS = 8  # pages that may have been waited for since the batch before
_COMFORTABLE = 0.5  # fraction of the available memory that a panel may take to be read with the kernel's own read-ahead


class ReadAhead:
    """Announces windows of a batcher before they are cut.

    Args:
        batcher: Cuts the windows; its panel is mapped.
    """

    def __init__(self, batcher: WindowBatcher) -> None:
        self._batcher = batcher
        self._is_warm = False
        self._num_groups = 0
        self._faults = 0

    def windows(self, places: Iterator[Place]) -> Iterator[Place]:
        """Yield the windows of batches, announced some batches ahead."""
        first = next(places, None)
        if first is None:
            return
        together = -(-_TOGETHER // len(first[1]))
        depth = int(min(max(_BYTES // self._batcher.bytes_to_read(together * len(first[1])), 1), _GROUPS))
        places = chain([first], places)
        coming: deque[_Group] = deque()
        with self._working() as worker:
            while batches := list(islice(places, together)):
                coming.append(self._announced(worker, _Group(batches)))
                if len(coming) > depth:
                    yield from self._watched(worker, coming)
            while coming:
                yield from self._watched(worker, coming)

    def blocks(self, places: Iterator[Place], visits: Iterator[tuple[Ints, Ints]]) -> Iterator[Place]:
        """Yield the windows of batches, and announce blocks.

        ``visits`` has for each batch the blocks to be read from then on, which may be none: the first rows of the first
        and of the last window of each. Those of the first batch have all windows of the batches that follow, and are
        waited for.
        """
        is_first = True
        with self._working() as worker:
            for place, (first, last) in zip(places, visits, strict=False):
                if len(first):
                    told = worker.submit(self._batcher.announce, *self._pieces(first, last))
                    if is_first:
                        told.result()
                is_first = False
                yield place

    def _pieces(self, first: Ints, last: Ints) -> tuple[Ints, int]:
        """Return blocks as first rows of pieces of equal size, and the size."""
        rows = last - first + self._batcher.input_size + self._batcher.horizon
        size = int(min(rows.max(), _PIECE))
        counts = -(-rows // size)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(first, counts) + place * size, size

    @contextmanager
    def _working(self) -> Iterator[ThreadPoolExecutor]:
        """Have a thread ready, and read at random where the panel is too large for the memory."""
        worker = ThreadPoolExecutor(1, "read-ahead")  # it is started when there is something to announce
        with reading_windows(self._batcher):
            try:
                yield worker
            finally:
                worker.shutdown(wait=False, cancel_futures=True)

    def _announced(self, worker: ThreadPoolExecutor, group: _Group) -> _Group:
        """Announce a group, unless pages are in memory, which is looked at now and then."""
        if self._num_groups % _OFTEN == 0:
            self._is_warm = self._batcher.is_resident(group.rows)
            self._faults = major_faults()
        self._num_groups += 1
        if not self._is_warm:
            group.told = worker.submit(self._batcher.announce, group.rows)
        return group

    def _watched(self, worker: ThreadPoolExecutor, coming: deque[_Group]) -> Iterator[Place]:
        """Yield the batches of the next group; if pages that seemed to be in memory are waited for, announce others.

        Touching pages that are not announced would read them one after another: a group that the thread has not come to
        is announced here.
        """
        group = coming.popleft()
        if group.told is not None:
            if group.told.cancel():
                self._batcher.announce(group.rows)
            else:
                wait([group.told])
        for place in group.batches:
            yield place
            if self._is_warm:
                faults = major_faults()
                if faults - self._faults > _FEW_FAULTS:
                    self._is_warm = False
                    for other in coming:
                        other.told = worker.submit(self._batcher.announce, other.rows)
                self._faults = faults


@dataclass
class _Group:
    """Batches that are announced together."""

    batches: list[Place]
    told: Future[None] | None = None

    @property
    def rows(self) -> Ints:
        """First rows of all windows."""
        return np.concatenate([rows for _, rows in self.batches])


@contextmanager
def reading_windows(batcher: WindowBatcher) -> Iterator[None]:
    """Turn off the kernel's own read-ahead inside the block if the panel is too large for the memory.

    It reads what surrounds a page, which is of use only if it stays in memory until it is needed.
    """
    with ExitStack() as stack:
        for array in () if fits_memory(batcher) else batcher.arrays:
            stack.enter_context(reading(array, "random"))
        yield


def fits_memory(batcher: WindowBatcher) -> bool:
    """Whether the memory has room for all of a panel and as much again."""
    available = available_memory(for_files=True)
    return available is None or batcher.panel.nbytes <= _COMFORTABLE * available


def major_faults() -> int:
    """Return how many pages this thread (where that is not known, this process) has waited for so far."""
    return 0 if _RESOURCE is None else int(_RESOURCE.getrusage(_WHO).ru_majflt)


def _find_resource() -> tuple[Any, int]:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None, 0
    return resource, getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


_RESOURCE, _WHO = _find_resource()
