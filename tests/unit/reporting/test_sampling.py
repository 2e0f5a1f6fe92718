"""Fewer points that look the same."""

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.reporting.sampling import min_max, raster_places

HEIGHTS = st.lists(st.floats(-1e9, 1e9) | st.just(float("nan")) | st.just(float("inf")), max_size=400)


def plain_min_max(y: list[float], buckets: int) -> list[int]:
    """The definition, one point after the other."""
    if len(y) <= 5 * buckets:
        return list(range(len(y)))
    size = -(-len(y) // buckets)
    kept = set()
    for begin in range(0, len(y), size):
        places = range(begin, min(begin + size, len(y)))
        known = [place for place in places if np.isfinite(y[place])]
        gaps = [place for place in places if not np.isfinite(y[place])]
        kept.update(gaps[:1])
        if known:
            kept.update([known[0], known[-1], min(known, key=lambda at: y[at]), max(known, key=lambda at: y[at])])
    return sorted(kept)


@given(HEIGHTS, st.integers(1, 40))
def test_min_max_keeps_what_the_definition_keeps(heights: list[float], buckets: int) -> None:
    y = np.array(heights)
    x = np.arange(len(y))
    kept, values = min_max(x, y, buckets)
    assert kept.tolist() == plain_min_max(heights, buckets)
    np.testing.assert_array_equal(values, y[kept])


@given(HEIGHTS, st.integers(1, 40))
def test_min_max_keeps_ends_extremes_gaps_and_order(heights: list[float], buckets: int) -> None:
    y = np.array(heights)
    kept, values = min_max(np.arange(len(y)), y, buckets)
    assert len(kept) <= max(5 * buckets, 0)
    assert (np.diff(kept) > 0).all()
    known = np.flatnonzero(np.isfinite(y))
    if known.size:
        finite = values[np.isfinite(values)]
        assert (finite.min(), finite.max()) == (y[known].min(), y[known].max())
        assert {int(known[0]), int(known[-1])} <= set(kept.tolist())
    assert np.isfinite(y).all() == np.isfinite(values).all()
    again = min_max(kept, values, buckets)
    np.testing.assert_array_equal(again, (kept, values))


def test_times_stay_times() -> None:
    x = np.datetime64("2024-01-01T00") + np.arange(5000).astype("timedelta64[h]")
    y = np.cos(np.arange(5000) / 100)
    kept, _ = min_max(x, y, 20)
    assert kept.dtype == x.dtype
    assert (kept[0], kept[-1]) == (x[0], x[-1])


def test_a_million_points_take_no_time() -> None:
    x, y = np.arange(1_000_000.0), np.random.default_rng(0).normal(size=1_000_000)
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        min_max(x, y, 1000)
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 0.2  # 0.02 to 0.06 where nothing else runs


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6) | st.just(float("nan"))), max_size=200))
def test_each_cell_of_the_raster_keeps_a_point_and_the_farthest_stay(points: list[tuple[float, float]]) -> None:
    x, y = np.array(points, dtype=np.float64).reshape(-1, 2).T
    kept = raster_places(x, y, 5, 4)
    known = np.flatnonzero(np.isfinite(y))
    assert set(kept) <= set(known)
    assert len(kept) <= 5 * 4 + 4
    assert (np.diff(kept) > 0).all()
    if known.size:
        assert (x[kept].min(), x[kept].max()) == (x[known].min(), x[known].max())
        assert (y[kept].min(), y[kept].max()) == (y[known].min(), y[known].max())
        wide, tall = np.ptp(x[known]) / 5, np.ptp(y[known]) / 4
        for at in known:  # something is drawn in its cell, so no farther away than a cell is wide and high
            near = (np.abs(x[kept] - x[at]) <= wide * 1.001) & (np.abs(y[kept] - y[at]) <= tall * 1.001)
            assert near.any()
