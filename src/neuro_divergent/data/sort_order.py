"""The order that sorts integers, found 16 bits at a time."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Array, Ints

_DIGIT = 16  # numpy sorts integers of 16 bits by counting, in a tenth of the time that it takes for others.
_MOST_DIGITS = 3
_CACHED = 1 << 16


def sort_order(values: Array) -> Ints:
    """Return the places of integers in ascending order; equal ones stay in the order they have.

    It is what ``np.argsort(values, kind="stable")`` returns, in less time where the values lie within 2**48.
    """
    if values.dtype.itemsize <= 2 or len(values) < _CACHED:
        return np.argsort(values, kind="stable")
    low, high = int(values.min()), int(values.max())
    digits = -(-(high - low).bit_length() // _DIGIT)
    if digits > _MOST_DIGITS:
        return np.argsort(values, kind="stable")
    distances = values.astype(np.uint64) - np.uint64(low % 2**64)  # which wraps round as it should
    order = np.argsort(distances.astype(np.uint16), kind="stable")
    for digit in range(1, digits):
        part = (distances >> np.uint64(_DIGIT * digit)).astype(np.uint16)
        order = order[np.argsort(part[order], kind="stable")]
    return order
