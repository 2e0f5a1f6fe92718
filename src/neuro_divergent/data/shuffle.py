"""A shuffled order that is computed, not stored.

A permutation of ten million windows would take 80 MB and most of a second per epoch. A Feistel network is a bijection
on the numbers below a power of two; walking along its cycle until the result is in range makes it one on any range. Any
slice of the order can be computed alone, so a position in an epoch is one number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np

from neuro_divergent.core.arrays import Ints

_ROUNDS = 6
Shuffle = bool | Literal["blocks", "auto"]
"""How the order is chosen: exactly at random, in order, at random in blocks, or by the speed of the disk."""


class Permutation(Protocol):
    """An order of the items of an epoch; any part of it is computed alone."""

    def __call__(self, positions: Ints, size: int, seed: int, epoch: int, /) -> Ints:
        """Return which of ``size`` items are at some positions of an epoch."""


def in_order(positions: Ints, size: int, seed: int, epoch: int) -> Ints:
    """Return the positions themselves: items come in the order of their numbers."""
    return positions


def shuffled(positions: Ints, size: int, seed: int, epoch: int, *part: int) -> Ints:
    """Return where positions (below ``size``) of a shuffled ``range(size)`` point, in the order of this epoch.

    ``part`` tells orders of the same epoch from each other.
    """
    half = max(1, (int(size - 1).bit_length() + 1) // 2)
    tables = _tables(half, seed, epoch, *part)
    order = _permute(positions, half, tables)
    while len(outside := np.flatnonzero(order >= size)):
        order[outside] = _permute(order[outside], half, tables)
    return order


def _permute(values: Ints, half: int, tables: tuple[Ints, ...]) -> Ints:
    """Apply the network to numbers of ``2 * half`` bits."""
    left, right = values >> half, values & ((1 << half) - 1)
    for table in tables:
        left, right = right, left ^ table[right]
    order: Ints = (left << half) | right
    return order


@lru_cache(maxsize=8)
def _tables(half: int, *key: int) -> tuple[Ints, ...]:
    """Return the function of each round for all numbers of ``half`` bits.

    Looking it up takes a quarter of the time of computing it for each position, and it is as small as the root of the
    size.
    """
    mask = np.uint64((1 << half) - 1)
    keys = np.random.default_rng(key).integers(1, 2**63, _ROUNDS, dtype=np.uint64)
    values = np.arange(1 << half, dtype=np.uint64)
    return tuple((_mix(values ^ (word & mask), word) & mask).astype(np.int64) for word in keys)


def _mix(values: Any, key: Any) -> Any:
    """Scramble bits (the finaliser of splitmix64, keyed)."""
    values = (values + key) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
