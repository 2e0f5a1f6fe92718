"""Sampling of windows from series of very unequal length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.replay import Replay
from neuro_divergent.data.sampling import BalancedSampling, ReplaySampling
from neuro_divergent.data.scaling.window import IdentityScaler
from neuro_divergent.data.windows import Windows
from tests.unit.data.test_windows import panel_of


def sampling_of(lengths: list[int], balance: float) -> BalancedSampling:
    """Return the sampling of windows of two rows of history and one of target."""
    panel = panel_of(lengths)
    return BalancedSampling(Windows(panel, 2, 1, panel.offsets[:-1], panel.offsets[1:]), balance)


def rows_of(sampling: BalancedSampling, epoch: int) -> list[int]:
    """Return the first row of every window that an epoch draws."""
    _, rows = sampling.locate(np.arange(len(sampling)), epoch)
    return list(rows.tolist())


def loader_of(lengths: list[int], *, shuffle: bool = True, balance: float = 1.0) -> WindowLoader:
    """Return batches of windows of two rows of history and one of target."""
    windows = sampling_of(lengths, 1.0).windows
    batcher = WindowBatcher(windows.panel, 2, 1, IdentityScaler())
    return WindowLoader(windows, batcher, Order(batch_size=16, shuffle=shuffle, seed=3), balance=balance)


lengths = st.lists(st.integers(1, 60), min_size=1, max_size=8).filter(lambda found: max(found) >= 3)
balances = st.floats(0, 1)


@given(lengths, balances, st.integers(0, 5))
def test_an_epoch_draws_no_window_twice_and_fewer_of_series_longer_than_the_median(
    lengths: list[int], balance: float, epoch: int
) -> None:
    sampling = sampling_of(lengths, balance)
    series, rows = sampling.locate(np.arange(len(sampling)), epoch)
    offsets = sampling.windows.panel.offsets
    assert (rows >= offsets[series]).all()
    assert (rows + 3 <= offsets[series + 1]).all()
    assert len(set(rows.tolist())) == len(rows)
    counts = np.maximum(np.array(lengths) - 2, 0)
    drawn = np.bincount(series, minlength=len(lengths))
    median = np.median(counts[counts > 0])
    assert (drawn[counts <= median] == counts[counts <= median]).all()
    assert (drawn[counts > median] >= median).all()
    assert (drawn <= counts).all()


@given(lengths)
def test_without_balance_every_window_is_drawn(lengths: list[int]) -> None:
    sampling = sampling_of(lengths, 0.0)
    assert not sampling.is_needed
    for balanced, plain in zip(
        sampling.locate(np.arange(len(sampling)), 3), sampling.windows.locate(np.arange(len(sampling))), strict=True
    ):
        np.testing.assert_array_equal(balanced, plain)


@pytest.mark.parametrize(("balance", "drawn"), [(0.0, 400), (0.5, 200), (1.0, 100)])
def test_a_long_series_is_drawn_by_the_geometric_mean_of_its_windows_and_the_median(balance: float, drawn: int) -> None:
    sampling = sampling_of([402, 102, 102, 2], balance)  # 400, 100, 100 and no windows
    series, _ = sampling.locate(np.arange(len(sampling)), 0)
    assert np.bincount(series, minlength=4).tolist() == [drawn, 100, 100, 0]


def test_windows_that_an_epoch_leaves_out_come_in_later_ones() -> None:
    sampling = sampling_of([302, 12, 12], 1.0)
    assert rows_of(sampling, 0) != rows_of(sampling, 1)
    seen = set().union(*(rows_of(sampling, epoch) for epoch in range(90)))
    assert seen == set(sampling.windows.locate(np.arange(320))[1].tolist())


def test_windows_of_a_long_series_are_spread_over_all_of_it() -> None:
    sampling = sampling_of([302, 12, 12], 1.0)  # 300 windows, of which 10 are drawn
    rows = np.array(rows_of(sampling, 1))[:10]
    assert set(np.diff(rows).tolist()) == {30}
    assert rows[-1] >= 270


@pytest.mark.parametrize(("shuffle", "balance"), [(False, 1.0), (True, 0.0)])
def test_a_loader_that_does_not_shuffle_or_balance_gives_every_window(shuffle: bool, balance: float) -> None:
    loader = loader_of([302, 12, 12], shuffle=shuffle, balance=balance)
    drawn = np.concatenate([np.asarray(batch.series) for batch in loader.epoch(0)])
    assert np.bincount(drawn).tolist() == [300, 10, 10]


def test_a_loader_that_balances_gives_short_epochs() -> None:
    loader = loader_of([302, 12, 12])
    batches = [np.asarray(batch.series) for batch in loader.epoch(0)]
    assert len(batches) == len(loader) == 2
    assert np.bincount(np.concatenate(batches)).tolist() == [10, 10, 10]


def test_an_epoch_begun_in_the_middle_gives_the_same_batches() -> None:
    loader = loader_of([302, 40, 40])
    batches, rest = list(loader.epoch(2)), list(loader.epoch(2, 3))
    assert len(batches) == 3 + len(rest)
    for one, other in zip(batches[3:], rest, strict=True):
        np.testing.assert_array_equal(one.past_y.numpy(), other.past_y.numpy())


def replay_of(lengths: list[int], rows: int, fraction: float, *, held_out: int = 0, step: int = 1) -> ReplaySampling:
    """Return the replay of windows of two rows of history and one of target, without the last rows of each series."""
    panel = panel_of(lengths)
    ends = np.maximum(panel.offsets[1:] - held_out, panel.offsets[:-1])
    windows = Windows(panel, 2, 1, panel.offsets[:-1], ends, step)
    return ReplaySampling(windows, Replay(rows=rows, fraction=fraction))


@given(lengths, st.integers(1, 30), st.floats(0, 0.95), st.integers(0, 5), st.integers(0, 10), st.integers(1, 3))
def test_replay_draws_every_new_window_and_no_window_twice(
    lengths: list[int], rows: int, fraction: float, epoch: int, held_out: int, step: int
) -> None:
    sampling = replay_of(lengths, rows, fraction, held_out=held_out, step=step)
    windows = sampling.windows
    every = windows.locate(np.arange(len(windows)))
    first_new = windows.panel.offsets[1:] - rows
    new = {int(row) for series, row in zip(*every, strict=True) if row + 2 >= first_new[series]}
    drawn = rows_of(sampling, epoch)
    assert len(set(drawn)) == len(drawn)
    assert new <= set(drawn) <= set(every[1].tolist())


def test_replay_draws_the_given_fraction_of_earlier_windows_and_others_in_the_next_epoch() -> None:
    sampling = replay_of([1000], rows=50, fraction=0.75)
    first, second = rows_of(sampling, 0), rows_of(sampling, 1)
    assert len(first) == 200
    assert sum(row + 2 < 950 for row in first) == 150
    assert set(first) != set(second)
    assert set(range(948, 998)) <= set(first) & set(second)


def test_replay_where_the_training_part_ends_before_the_new_rows_gives_some_earlier_windows() -> None:
    sampling = replay_of([100, 100], rows=10, fraction=0.5, held_out=20)
    assert 1 <= len(sampling) <= 2


def test_a_loader_with_replay_draws_only_what_the_replay_gives() -> None:
    sampling = replay_of([500], rows=20, fraction=0.5)
    batcher = WindowBatcher(sampling.windows.panel, 2, 1, IdentityScaler())
    loader = WindowLoader(sampling.windows, batcher, Order(batch_size=16, seed=3), balance=0.5, replay=sampling.replay)
    assert loader.num_windows == 40
    assert sum(len(series) for series, _ in loader.places(0)) == 40
