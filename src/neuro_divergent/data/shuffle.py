"""A shuffled order that is computed, not stored.

A permutation of ten million windows would take 80 MB and most of a second per epoch. A Feistel network is a bijection
on the numbers below a power of two; walking along its cycle until the result is in range makes it one on any range. Any
slice of the order can be computed alone, so a position in an epoch is one number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Ints

_ROUNDS = 6


def shuffled(positions: Ints, size: int, seed: int, epoch: int) -> Ints:
    """Return where positions (below ``size``) of a shuffled ``range(size)`` point, in the order of this epoch."""
    half = max(1, (int(size - 1).bit_length() + 1) // 2)
    keys = np.random.default_rng([seed, epoch]).integers(1, 2**63, _ROUNDS, dtype=np.uint64)
    result = _permute(positions.astype(np.uint64), half, keys)
    while (outside := result >= size).any():
        result[outside] = _permute(result[outside], half, keys)
    order: Ints = result.astype(np.int64)
    return order


def _permute(values: Any, half: int, keys: Any) -> Any:
    """Apply the network to numbers of ``2 * half`` bits."""
    mask = np.uint64((1 << half) - 1)
    shift = np.uint64(half)
    left, right = values >> shift, values & mask
    for key in keys:
        left, right = right, left ^ (_mix(right ^ (key & mask), key) & mask)
    return (left << shift) | right


def _mix(values: Any, key: Any) -> Any:
    """Scramble bits (the finaliser of splitmix64, keyed)."""
    values = (values + key) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
