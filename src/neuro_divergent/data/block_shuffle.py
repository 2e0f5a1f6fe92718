"""A shuffled order that reads the disk in blocks.

In the exact order each window is a page of its own somewhere in the file. Where a step is shorter than reading as many
pages takes, this order needs a fraction of it: blocks of neighbouring items are shuffled, some of them make a buffer,
and the items of a buffer are shuffled. While one buffer is used, the blocks of the next are read, each in one piece.

Neighbouring windows overlap in all rows but one, so that the items of a block take few bytes each. A block is
therefore visited several times in an epoch, each time for every ``visits``-th of its items: a buffer then has more
blocks, and with them more series, for the same number of items. As in the exact order nothing is stored, and any part
of the order can be computed alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.shuffle import shuffled

BLOCK_BYTES = 2**18  # read in one piece: a disk gets three quarters of its speed, and a buffer has many of them
BUFFER_BYTES = 2**27
BYTES_PER_ITEM = 64  # read from disk for an item, if it takes less by itself: 64 KB for 1,024 windows
_TOGETHER = 8  # blocks that are read at the same time
_BLOCKS, _BUFFER = 1, 2  # the last number of a key tells what is shuffled with it


@dataclass(frozen=True)
class BlockShuffle:
    """How the items of an epoch are divided into blocks and buffers.

    A visit of a block is one of ``visits`` parts of its items; there are ``blocks * visits`` visits in an epoch, all of
    the same size but for the items that would be numbers from ``size`` on. Those few places of the order are taken by
    items of other blocks.

    Attributes:
        size: Items of an epoch.
        blocks: Blocks that they are divided into.
        visits: How often an epoch comes back to a block.
        buffers: Buffers of about the same number of visits.
    """

    size: int
    blocks: int = 1
    visits: int = 1
    buffers: int = 1

    @classmethod
    def of(cls, size: int, nbytes: int) -> Self:
        """Return the division of items that take some bytes on disk together.

        All of them are one block, and shuffled without regard to blocks, if they fit into a buffer.
        """
        if size < 2 or nbytes <= BUFFER_BYTES:
            return cls(size)
        blocks = min(-(-nbytes // BLOCK_BYTES), size)
        visits = int(min(max(BYTES_PER_ITEM * size // nbytes, 1), size // blocks))
        return cls(size, blocks, visits, min(-(-nbytes * visits // BUFFER_BYTES), blocks * visits))

    def __call__(self, positions: Ints, size: int, seed: int, epoch: int) -> Ints:
        """Return the items at some positions of an epoch, which has ``size`` of them."""
        assert size == self.size, "the division is that of other items"
        items = self._items(positions, seed, epoch)
        while len(outside := np.flatnonzero(items >= size)):  # as in ``shuffled``: along the cycle back into the range
            items[outside] = self._items(items[outside], seed, epoch)
        return items

    @property
    def num_visits(self) -> int:
        """Visits of blocks in an epoch."""
        return self.blocks * self.visits

    @property
    def per_visit(self) -> int:
        """Items of a visit."""
        return -(-self.size // self.num_visits)

    def visits_until(self, position: int) -> tuple[int, int]:
        """Return the first visit of the buffer that a position is in, and the one after the last to be read by then.

        All of a buffer is read before its first item is used. The next one is read meanwhile, some blocks at a time,
        and done when four fifths of the buffer are used.
        """
        buffer = int(self._buffer_of(np.array([position]))[0])
        first, last, next_last = (int(self._first_visit(buffer + later)) for later in range(3))
        used = (position - first * self.per_visit) / ((last - first) * self.per_visit)
        ahead = int(np.ceil(min(1.25 * used, 1.0) * (next_last - last)))
        return first, last + (ahead - ahead % _TOGETHER if last + ahead < next_last else ahead)

    def bounds(self, first: int, last: int, seed: int, epoch: int) -> tuple[Ints, Ints]:
        """Return the first and the last item of the visits from ``first`` to before ``last``, in order of the items."""
        places = np.sort(shuffled(np.arange(first, last), self.num_visits, seed, epoch, _BLOCKS))
        begins = self._item(places, np.zeros_like(places))
        ends = np.minimum(self._item(places, np.full_like(places, self.per_visit - 1)), self.size - 1)
        return begins[begins < self.size], ends[begins < self.size]

    def _items(self, positions: Ints, seed: int, epoch: int) -> Ints:
        """Apply a permutation of ``num_visits * per_visit`` numbers, of which the last few are no items."""
        buffers = self._buffer_of(positions)
        places = np.empty_like(positions)
        for buffer in np.unique(buffers):
            chosen = buffers == buffer
            first, last = (int(self._first_visit(int(buffer) + later)) * self.per_visit for later in range(2))
            inside = shuffled(positions[chosen] - first, last - first, seed, epoch, int(buffer), _BUFFER)
            places[chosen] = first + inside
        visits = shuffled(places // self.per_visit, self.num_visits, seed, epoch, _BLOCKS)
        return self._item(visits, places % self.per_visit)

    def _item(self, visits: Ints, places: Ints) -> Ints:
        """Return the item at a place of a visit."""
        block, turn = visits // self.visits, visits % self.visits
        item: Ints = (block * self.per_visit + places) * self.visits + turn
        return item

    def _first_visit(self, buffer: int) -> int:
        return min(buffer, self.buffers) * self.num_visits // self.buffers

    def _buffer_of(self, positions: Ints) -> Ints:
        buffers: Ints = ((positions // self.per_visit + 1) * self.buffers - 1) // self.num_visits
        return buffers
