"""A random order that reads a disk in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.data import block_shuffle
from neuro_divergent.data.block_shuffle import BlockShuffle
from neuro_divergent.data.loader import Order

LARGE = BlockShuffle(size=100_003, blocks=50, visits=4, buffers=20)


@st.composite
def divisions(draw: st.DrawFn) -> BlockShuffle:
    size = draw(st.integers(1, 400))
    blocks = draw(st.integers(1, size))
    visits = draw(st.integers(1, max(size // blocks, 1)))
    return BlockShuffle(size, blocks, visits, draw(st.integers(1, blocks * visits)))


@given(divisions(), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_every_item_exactly_once(division: BlockShuffle, seed: int, epoch: int) -> None:
    order = division(np.arange(division.size), division.size, seed, epoch)
    assert sorted(order.tolist()) == list(range(division.size))


@given(divisions(), st.integers(1, 40), st.booleans(), st.integers(0, 5), st.integers(1, 4))
def test_batches_from_any_start_and_of_any_process_are_those_of_the_epoch(
    division: BlockShuffle, batch_size: int, drop_last: bool, start: int, world: int
) -> None:
    order = Order(batch_size=batch_size, shuffle="blocks", blocks=division, drop_last=drop_last, seed=3)
    batches = [batch.tolist() for batch in order.batches(division.size, 2, 0)]
    assert len(batches) == order.num_batches(division.size)
    assert [batch.tolist() for batch in order.batches(division.size, 2, start)] == batches[start:]
    if batch_size < world:
        return
    parts = [list(order.part(rank, world).batches(division.size, 2, 0)) for rank in range(world)]
    for number, batch in enumerate(batches):
        assert sorted({int(item) for part in parts for item in part[number]}) == sorted(batch)


@given(divisions())
def test_blocks_that_are_read_by_a_position_have_the_items_up_to_it(division: BlockShuffle) -> None:
    """But for as many items as the last places of the last blocks, which other blocks give."""
    order = division(np.arange(division.size), division.size, 1, 0)
    strays = division.num_visits * division.per_visit - division.size
    for position in {0, division.size // 3, division.size - 1}:
        first, last = division.visits_until(position)
        begins, ends = division.bounds(first, last, 1, 0)
        missing = [item for item in order[first * division.per_visit : position + 1] if not _in(item, begins, ends)]
        assert len(missing) <= strays


def _in(item: int, begins: np.ndarray, ends: np.ndarray) -> bool:
    return bool(((begins <= item) & (item <= ends)).any())


def test_next_buffer_is_read_while_a_buffer_is_used() -> None:
    wanted = [LARGE.visits_until(position)[1] for position in range(0, LARGE.size, 100)]
    assert wanted == sorted(wanted)
    assert wanted[0] == LARGE.num_visits // LARGE.buffers  # the first buffer and nothing else
    assert wanted[-1] == LARGE.num_visits
    in_buffer = LARGE.num_visits // LARGE.buffers * LARGE.per_visit
    assert LARGE.visits_until(int(0.9 * in_buffer))[1] == 2 * LARGE.num_visits // LARGE.buffers


def test_a_buffer_has_few_blocks_and_its_items_come_mixed() -> None:
    order = LARGE(np.arange(LARGE.size), LARGE.size, 1, 0)
    per_block = LARGE.per_visit * LARGE.visits
    in_buffer = LARGE.num_visits // LARGE.buffers * LARGE.per_visit
    blocks = order[:in_buffer] // per_block
    often = np.sort(np.bincount(blocks, minlength=LARGE.blocks))[::-1][: LARGE.num_visits // LARGE.buffers]
    assert often.sum() > 0.99 * in_buffer  # all but a few strays
    halves = [np.bincount(half, minlength=LARGE.blocks) for half in np.array_split(blocks, 2)]
    assert abs(halves[0] - halves[1]).max() < 5 * np.sqrt(LARGE.per_visit)  # each half has as many of each block


def test_orders_of_epochs_and_seeds_differ() -> None:
    places = np.arange(1000)
    orders = [tuple(LARGE(places, LARGE.size, seed, epoch).tolist()) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    assert len(set(orders)) == 3


def test_items_that_fit_into_a_buffer_are_shuffled_without_regard_to_blocks() -> None:
    division = BlockShuffle.of(50_000, block_shuffle.BUFFER_BYTES)
    assert (division.blocks, division.buffers) == (1, 1)
    order = division(np.arange(50_000), 50_000, 1, 0)
    assert abs(np.corrcoef(order, np.arange(50_000))[0, 1]) < 0.02  # 4.5 standard deviations of no correlation
    assert (np.diff(order) == 1).sum() < 10


@pytest.mark.parametrize(("size", "row_bytes"), [(10**9, 4), (10**8, 40), (10**7, 400), (10**5, 40_000)])
def test_blocks_are_of_the_size_a_disk_reads_well(size: int, row_bytes: int) -> None:
    division = BlockShuffle.of(size, size * row_bytes)
    read_per_item = row_bytes * division.visits
    assert size * row_bytes / division.blocks == pytest.approx(block_shuffle.BLOCK_BYTES, rel=0.5)
    assert size * read_per_item / division.buffers == pytest.approx(block_shuffle.BUFFER_BYTES, rel=0.5)
    assert read_per_item <= max(row_bytes, block_shuffle.BYTES_PER_ITEM)
    strays = division.num_visits * division.per_visit - size
    assert strays <= 0.01 * size or row_bytes > 4096
