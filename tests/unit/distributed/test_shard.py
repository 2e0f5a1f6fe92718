"""Batches dealt out to processes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.loader import IterableLoader, Order, TensorLoader
from neuro_divergent.distributed.shard import shard

CPU = torch.device("cpu")


@given(
    size=st.integers(1, 60), batch_size=st.integers(1, 17), world=st.integers(1, 5), epoch=st.integers(0, 3),
    shuffle=st.booleans(), drop_last=st.booleans(), start=st.integers(0, 3),
)  # fmt: skip
def test_parts_of_an_order_are_its_batches(
    size: int, batch_size: int, world: int, epoch: int, shuffle: bool, drop_last: bool, start: int
) -> None:
    order = Order(batch_size=batch_size, shuffle=shuffle, seed=7, drop_last=drop_last)
    if batch_size < world:
        with pytest.raises(ConfigError, match="cannot be dealt out"):
            order.part(0, world)
        return
    whole = list(order.batches(size, epoch, start))
    parts = [order.part(rank, world) for rank in range(world)]
    dealt = [list(part.batches(size, epoch, start)) for part in parts]
    assert {len(batches) for batches in dealt} == {len(whole)}
    for number, batch in enumerate(whole):
        own = [dealt[rank][number] for rank in range(world) if not parts[rank].stands_in(size, start + number)]
        assert sorted(np.concatenate(own)) == sorted(batch)
        assert all(len(dealt[rank][number]) for rank in range(world))


def test_rows_of_tensors_and_of_other_batches_are_dealt_out_alike() -> None:
    rows = torch.arange(7.0)[:, None]
    tensors = TensorLoader((rows, rows), Order(batch_size=3, shuffle=False), CPU)
    batches = IterableLoader([(rows[:3], rows[:3]), (rows[3:6], rows[3:6]), (rows[6:], rows[6:])], CPU)
    for loader in (tensors, batches):
        first, second = (list(shard(loader, rank, 2).epoch(0)) for rank in range(2))
        assert [batch[0].flatten().tolist() for batch in first] == [[0, 2], [3, 5], [6]]
        assert [batch[0].flatten().tolist() for batch in second] == [[1], [4], [6]]
        assert len(second[-1]) == 3  # and its weights are zero: the row is counted by the first process
        assert not second[-1][2].any()
        assert all(len(batch) == 2 for batch in (*first, *second[:-1]))


@pytest.mark.parametrize("seed", [1, 2])
def test_shuffling_data_loader_in_several_processes_has_one_order_that_depends_on_seed_and_epoch(seed: int) -> None:
    rows = torch.arange(12.0)[:, None]
    loader = DataLoader(TensorDataset(rows, rows), batch_size=4, shuffle=True)

    def order(rank: int, epoch: int, seed: int) -> list[list[float]]:
        part = shard(IterableLoader(loader, CPU), rank, 2, seed)
        return [batch[0].flatten().tolist() for batch in part.epoch(epoch)]

    rows_of_all = [row for rank in range(2) for batch in order(rank, 0, seed) for row in batch]
    assert sorted(rows_of_all) == list(range(12))
    assert order(0, 0, seed) == order(0, 0, seed)
    assert order(0, 0, seed) != order(0, 1, seed)
    assert order(0, 0, seed) != order(0, 0, seed + 1)
