"""The part of each batch that is for one of several processes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.nested import num_rows
from neuro_divergent.core.seeding import seed_of
from neuro_divergent.data.loader import Loader, without_weight
from neuro_divergent.training.objective import select_rows


class RowPart(Loader):
    """Every batch of any loader, cut down to the rows of one process.

    All processes make the whole batch, so the order must be the same in all: the first batch of an epoch, with which
    a shuffling ``DataLoader`` draws its order, is drawn with torch's generator seeded by seed and number of the epoch.

    Args:
        loader: Where batches come from.
        rank: Number of this process.
        world_size: Number of processes.
        seed: Seed of the training.
    """

    def __init__(self, loader: Loader, rank: int, world_size: int, seed: int) -> None:
        self._loader = loader
        self._rank = rank
        self._world_size = world_size
        self._seed = seed

    def __len__(self) -> int:
        return len(self._loader)

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        with torch.random.fork_rng():
            torch.manual_seed(seed_of(self._seed, number))
            batches = iter(self._loader.epoch(number, start))
            first = list(islice(batches, 1))
        return map(self._cut, chain(first, batches))

    def _cut(self, batch: Any) -> Any:
        if not isinstance(batch, (tuple, list)):
            raise ConfigError(f"a batch of {type(batch).__name__} cannot be dealt out to processes; use tuples.")
        rows = num_rows(batch[0])
        if rows <= self._rank:
            return without_weight(select_rows(batch, slice(0, 1)))
        return select_rows(batch, slice(self._rank, None, self._world_size))


def shard(loader: Loader, rank: int, world_size: int, seed: int = 0) -> Loader:
    """Return the part of a loader that is for one of several processes."""
    own_way = getattr(loader, "part", None)
    return RowPart(loader, rank, world_size, seed) if own_way is None else own_way(rank, world_size)
