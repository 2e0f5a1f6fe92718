"""Downsampling of lines and points for drawing, without visible loss.

Both ways choose among the points that are there and keep their order. ``min_max`` never loses an extreme or a gap,
which is what to use where a spike matters; ``lttb`` gives a smoother line of exactly as many points as asked for.
"""

from __future__ import annotations

import math

import numpy as np

from neuro_divergent.core.arrays import Array, Indices

PER_BUCKET = 5
"""Most points that ``min_max`` keeps of a bucket: first, lowest, highest, last, and one where there is a gap."""


def min_max(x: Array, y: Array, buckets: int) -> tuple[Array, Array]:
    """Thin a line, keeping the first, lowest, highest and last height of each bucket.

    Buckets hold equally many points. Heights that are not finite count as one gap per bucket: the first of them is
    kept, so that a line broken there stays broken. Up to ``5 * buckets`` points are returned as they are.

    Args:
        x: Places: numbers or times, as many as heights.
        y: Heights.
        buckets: How many to divide the points into; at least 1.
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
    chosen = [
        begins + known.argmax(axis=1),
        begins + size - 1 - known[:, ::-1].argmax(axis=1),
        begins + np.where(known, table, np.inf).argmin(axis=1),
        begins + np.where(known, table, -np.inf).argmax(axis=1),
    ]
    known_rows = known.any(axis=1)
    kept = [places[known_rows] for places in chosen]
    gap_rows = gap.any(axis=1)
    return np.unique(np.concatenate([*kept, (begins + gap.argmax(axis=1))[gap_rows]]))


def lttb(x: Array, y: Array, points: int) -> tuple[Array, Array]:
    """Thin a line to a number of points by Largest-Triangle-Three-Buckets (Steinarsson, 2013).

    The first and the last point stay; of each bucket between them the one stays that spans the largest triangle with
    the one chosen before and the mean of the next bucket. Heights that are not finite are left out, so gaps close. Up
    to ``points`` finite heights are returned as they are.

    Args:
        x: Places in rising order: numbers or times, as many as heights.
        y: Heights.
        points: How many to keep; at least 3.
    """
    x, y = np.asarray(x), np.asarray(y)
    known = np.isfinite(y)
    if not known.all():
        x, y = x[known], y[known]
    count = len(y)
    if count <= points:
        return x, y
    heights = y.astype(np.float64)
    across = (x - x[0]).astype(np.float64)
    edges = 1 + (count - 2) * np.arange(points - 1) // (
        points - 2
    )  # of the buckets between the first point and the last
    sizes = np.diff(edges)
    means_x = np.append(np.add.reduceat(across[:-1], edges[:-1]) / sizes, across[-1])
    means_y = np.append(np.add.reduceat(heights[:-1], edges[:-1]) / sizes, heights[-1])
    chosen = np.zeros(points, dtype=np.intp)
    chosen[-1] = count - 1
    last = 0
    for bucket in range(points - 2):
        begin, end = edges[bucket], edges[bucket + 1]
        to_x, to_y = means_x[bucket + 1] - across[last], means_y[bucket + 1] - heights[last]
        areas = to_x * (heights[begin:end] - heights[last]) - to_y * (across[begin:end] - across[last])
        last = int(begin) + int(np.abs(areas, out=areas).argmax())
        chosen[bucket + 1] = last
    return x[chosen], y[chosen]


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
