"""Windows, splits and orders against brute force."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.loader import Order, WindowLoader, ahead
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.window import IdentityScaler
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.shuffle import shuffled
from neuro_divergent.data.splits import MIN_HISTORY, split_by_time
from neuro_divergent.data.windows import Windows


def panel_of(lengths: list[int]) -> Panel:
    """Return a panel whose value at a row is the number of the row, so that a window shows where it was cut."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Panel(
        schema=Schema(),
        ids=pl.Series([f"s{index}" for index in range(len(lengths))]),
        starts=pl.Series([1] * len(lengths)),
        frequency=Frequency(1, ""),
        offsets=offsets,
        y=np.arange(offsets[-1], dtype=np.float32),
    )


def every_window(panel: Panel, begins: list[int], ends: list[int], size: int, horizon: int, step: int) -> list[tuple]:
    """Find all windows one row at a time: the oracle."""
    found = []
    for series in range(panel.num_series):
        first, last = panel.offsets[series], panel.offsets[series + 1]
        rows = [
            row
            for row in range(first, last)
            if row + size >= begins[series]
            and row + size + horizon <= ends[series]
            and row + size + horizon <= last
            and (ends[series] - horizon - size - row) % step == 0
        ]
        found += [(series, row) for row in rows]
    return found


lengths = st.lists(st.integers(1, 40), min_size=1, max_size=6)
sizes = st.integers(1, 8)


@given(lengths, sizes, sizes, st.integers(1, 5), st.data())
def test_windows_equal_brute_force_enumeration(
    rows: list[int], size: int, horizon: int, step: int, data: st.DataObject
) -> None:
    panel = panel_of(rows)
    begins = [data.draw(st.integers(int(a), int(b))) for a, b in zip(panel.offsets, panel.offsets[1:], strict=False)]
    ends = [data.draw(st.integers(a, int(b))) for a, b in zip(begins, panel.offsets[1:], strict=True)]
    windows = Windows(panel, size, horizon, np.array(begins), np.array(ends), step)
    expected = every_window(panel, begins, ends, size, horizon, step)
    assert len(windows) == len(expected)
    series, first = windows.locate(np.arange(len(windows)))
    assert list(zip(series.tolist(), first.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    "rows", [[30] * 50, [400, *[5] * 50], [*[5] * 50, 400], [2, 2, 2, 90, 2, 2, 50], [6] * 3 + [1] * 9 + [60] * 3]
)
def test_the_series_of_a_window_is_found_among_equal_and_very_different_lengths(rows: list[int]) -> None:
    panel = panel_of(rows)
    windows = Windows(panel, 2, 2, panel.offsets[:-1], panel.offsets[1:])
    expected = every_window(panel, panel.offsets[:-1].tolist(), panel.offsets[1:].tolist(), 2, 2, 1)
    numbers = np.random.default_rng(0).permutation(len(windows))
    series, first = windows.locate(numbers)
    assert list(zip(series.tolist(), first.tolist(), strict=True)) == [expected[number] for number in numbers]


@given(lengths, sizes, sizes, st.sampled_from([0, 0.2, 0.5]), st.sampled_from([0, 0.1, 0.3]))
def test_no_target_leaks_between_the_parts(
    rows: list[int], size: int, horizon: int, validation: float, test: float
) -> None:
    panel = panel_of(rows)
    try:
        split = split_by_time(panel, input_size=size, horizon=horizon, validation=validation, test=test)
    except DataError:
        assert max(rows) < size + horizon
        return
    seen: dict[str, set[int]] = {}
    for name in ("train", "validation", "test"):
        part: Windows = getattr(split, name)
        _, first = part.locate(np.arange(len(part)))
        seen[name] = {row for start in first for row in range(start + size, start + size + horizon)}
    history = {
        row for start in split.train.locate(np.arange(len(split.train)))[1] for row in range(start, start + size)
    }
    trained = history | seen["train"]
    assert not trained & (seen["validation"] | seen["test"])
    assert not seen["validation"] & seen["test"]
    for begin, end in zip(panel.offsets, panel.offsets[1:], strict=False):
        of_series = [[row for row in seen[name] if begin <= row < end] for name in ("train", "validation", "test")]
        for earlier, later in (
            (of_series[0], of_series[1]),
            (of_series[1], of_series[2]),
            (of_series[0], of_series[2]),
        ):
            assert not earlier or not later or max(earlier) < min(later)


@given(lengths, sizes, sizes)
def test_splits_use_every_series_with_a_window(rows: list[int], size: int, horizon: int) -> None:
    panel = panel_of(rows)
    if max(rows) < size + horizon:
        return
    split = split_by_time(panel, input_size=size, horizon=horizon)
    used, _ = split.train.locate(np.arange(len(split.train)))
    assert set(used.tolist()) == {index for index, length in enumerate(rows) if length >= size + horizon}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 9), sizes)
def test_padded_series_have_windows_with_enough_observed_history(rows: list[int], size: int, horizon: int) -> None:
    panel = panel_of([length + size for length in rows])
    mask = np.concatenate([np.arange(length + size) >= size for length in rows])
    panel = dataclasses.replace(panel, mask=mask)
    least = min(MIN_HISTORY, size)
    if max(rows) < least + horizon:
        with pytest.raises(DataError, match=f"a window needs {least + horizon} rows"):
            split_by_time(panel, input_size=size, horizon=horizon)
        return
    split = split_by_time(panel, input_size=size, horizon=horizon)
    series, first = split.train.locate(np.arange(len(split.train)))
    observed = np.add.reduce(mask[first[:, None] + np.arange(size)], axis=1)
    assert (observed >= least).all()
    assert set(series.tolist()) == {place for place, length in enumerate(rows) if length >= least + horizon}


def test_windows_are_spread_over_each_series() -> None:
    windows = split_by_time(panel_of([30, 3, 8]), input_size=4, horizon=2, validation=0).train
    series, first = windows.locate(windows.spread_out(3))
    assert series.tolist() == [0, 0, 0, 2, 2, 2]
    assert first.tolist() == [0, 12, 24, 33, 34, 35]


def test_default_validation_is_a_fifth_of_each_series() -> None:
    split = split_by_time(panel_of([100, 50]), input_size=5, horizon=2)
    assert (split.validation.ends - split.validation.begins).tolist() == [20, 10]
    assert split.train.ends.tolist() == [80, 140]


def test_fewer_rows_than_a_horizon_cannot_be_held_out() -> None:
    with pytest.raises(DataError, match="fewer than one horizon"):
        split_by_time(panel_of([100]), input_size=5, horizon=10, validation=4)


@given(st.integers(1, 5000), st.integers(0, 2**31), st.integers(0, 100))
def test_a_shuffled_order_is_a_permutation(size: int, seed: int, epoch: int) -> None:
    order = shuffled(np.arange(size), size, seed, epoch)
    assert np.array_equal(np.sort(order), np.arange(size))


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1_000, [688, 891, 820, 254, 454, 65, 29, 309]), (50_000, [42522, 1642, 23922, 43167, 13061, 10687, 3824, 4220])],
)
def test_the_order_of_a_seed_and_epoch_stays_that_of_earlier_versions(size: int, expected: list[int]) -> None:
    assert shuffled(np.arange(8), size, seed=3, epoch=2).tolist() == expected


def test_orders_differ_between_epochs_and_seeds_and_look_random() -> None:
    size = 20_000
    orders = [shuffled(np.arange(size), size, seed, epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    for first in range(3):
        for second in range(first):
            assert abs(np.corrcoef(orders[first], orders[second])[0, 1]) < 0.03
        assert abs(np.corrcoef(orders[first], np.arange(size))[0, 1]) < 0.03
        assert abs(np.corrcoef(orders[first][1:], orders[first][:-1])[0, 1]) < 0.03
        # Neighbours in the order should be as far apart as in a random permutation: a third of the range on average.
        assert np.abs(np.diff(orders[first])).mean() == pytest.approx(size / 3, rel=0.02)


@given(st.integers(1, 300), st.integers(1, 40), st.booleans(), st.booleans(), st.integers(0, 5))
def test_an_epoch_takes_each_item_once_and_can_start_anywhere(
    size: int, batch_size: int, shuffle: bool, drop_last: bool, start: int
) -> None:
    order = Order(batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, seed=3)
    batches = [batch.tolist() for batch in order.batches(size, epoch=2, start=0)]
    assert len(batches) == order.num_batches(size)
    items = [item for batch in batches for item in batch]
    assert len(set(items)) == len(items)
    if not drop_last or size < batch_size:
        assert sorted(items) == list(range(size))
    else:
        assert all(len(batch) == batch_size for batch in batches)
    assert [batch.tolist() for batch in order.batches(size, epoch=2, start=start)] == batches[start:]


@given(lengths, sizes, sizes, st.booleans())
def test_a_batch_holds_the_rows_of_its_windows(rows: list[int], size: int, horizon: int, shuffle: bool) -> None:
    panel = panel_of(rows)
    if max(rows) < size + horizon:
        return
    windows = split_by_time(panel, input_size=size, horizon=horizon, validation=0).train
    loader = WindowLoader(
        windows, WindowBatcher(panel, size, horizon, IdentityScaler()), Order(batch_size=7, shuffle=shuffle)
    )
    starts = []
    for batch in loader.epoch(0):
        together = np.concatenate([batch.past_y.numpy(), batch.future_y.numpy()], axis=1)[..., 0]
        assert (np.diff(together, axis=1) == 1).all()
        starts += together[:, 0].astype(int).tolist()
    assert sorted(starts) == windows.locate(np.arange(len(windows)))[1].tolist()


def test_joint_windows_hold_all_series_side_by_side() -> None:
    panel = panel_of([30, 30, 30])
    windows = split_by_time(panel, input_size=4, horizon=2, joint=True, validation=0).train
    assert len(windows) == 25
    batcher = WindowBatcher(panel, 4, 2, IdentityScaler(), joint=True)
    batch = batcher.windows(*windows.locate(np.array([3, 7])))
    assert batch.past_y.shape == (2, 4, 3)
    assert batch.past_y[1, :, 2].tolist() == [67, 68, 69, 70]
    assert batch.future_y[0, :, 1].tolist() == [37, 38]


def test_windows_in_order_of_time_take_the_earliest_of_all_series_first() -> None:
    panel = panel_of([12, 9])
    windows = split_by_time(panel, input_size=3, horizon=2, validation=0).train
    series, rows = windows.locate(windows.by_time())
    local = rows - panel.offsets[series]
    assert (np.diff(local) >= 0).all()
    assert sorted(zip(series.tolist(), rows.tolist(), strict=True)) == list(
        zip(*(array.tolist() for array in windows.locate(np.arange(len(windows)))), strict=True)
    )


def test_prefetch_yields_the_same_batches_and_raises_errors() -> None:
    assert list(ahead(iter(range(50)), 3)) == list(range(50))

    def failing() -> object:
        yield 1
        raise RuntimeError("broken disk")

    batches = ahead(failing(), 2)
    assert next(batches) == 1
    with pytest.raises(RuntimeError, match="broken disk"):
        next(batches)


def test_prefetch_can_be_abandoned() -> None:
    batches = ahead(iter(range(1000)), 2)
    assert next(batches) == 0
    batches.close()
