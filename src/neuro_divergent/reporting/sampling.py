"""Downsampling of lines and points for drawing, without visible loss: neither an extreme nor a gap goes."""

from __future__ import annotations

import math

import numpy as np

from neuro_divergent.core.arrays import Array, Indices

PER_BUCKET = 5
"""Most points that ``min_max`` keeps of a bucket: first, lowest, highest, last, and one where there is a gap."""


def min_max(x: Array, y: Array, buckets: int) -> tuple[Array, Array]:
    """Thin a line, keeping the first, lowest, highest and last height of each bucket.

    Buckets hold equally many points. Heights that are not finite count as one gap per bucket: the first of them is
    kept, so that a line broken there stays broken. Up to ``5 * buckets`` points are returned as they are. Places are
    numbers or times, as many as heights.
    """
    places = min_max_places(y, buckets)
    return np.asarray(x)[places], np.asarray(y)[places]


def min_max_places(y: Array, buckets: int) -> Indices:
    """Return which points ``min_max`` keeps, in order."""
    y = np.asarray(y)
    count = len(y)
    if count <= PER_BUCKET * buckets:
        return np.arange(count)
    size = math.ceil(count / buckets)
    rows = math.ceil(count / size)
    # Seen as a table with a bucket in each row; what fills up the last row is neither a height nor a gap.
    flat = np.full(rows * size, np.nan)
    flat[:count] = y
    table = flat.reshape(rows, size)
    known = np.isfinite(table)
    gap = ~known
    gap.reshape(-1)[count:] = False
    begins = np.arange(rows) * size
    chosen = (
        known.argmax(axis=1),
        size - 1 - known[:, ::-1].argmax(axis=1),
        np.where(known, table, np.inf).argmin(axis=1),
        np.where(known, table, -np.inf).argmax(axis=1),
    )
    has_known, has_gap = known.any(axis=1), gap.any(axis=1)
    kept = [(begins + places)[has_known] for places in chosen]
    return np.unique(np.concatenate([*kept, (begins + gap.argmax(axis=1))[has_gap]]))


def raster_places(x: Array, y: Array, columns: int, rows: int) -> Indices:
    """Return which of many points to draw: the first in each cell of a raster, and those farthest out.

    Points that are not finite are left out.
    """
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not known.size:
        return known
    x, y = x[known], y[known]
    across, down = (
        np.floor((values - values.min()) / (float(np.ptp(values)) or 1.0) * cells * (1 - 1e-9))
        for values, cells in ((x, columns), (y, rows))
    )
    _, first = np.unique(across * rows + down, return_index=True)
    ends = [at for values in (x, y) for at in (values.argmin(), values.argmax())]
    return known[np.union1d(first, ends)]
