"""The batches of several trainings, one of each for every step."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import Loader, WindowLoader
from neuro_divergent.training.state import TrainingState


class StackedBatch(NamedTuple):
    """Batches with as many windows each.

    Attributes:
        places: Numbers of the trainings that they are for.
        batch: The batches, with an axis for the trainings before the others.
    """

    places: list[int]
    batch: Batch

    @property
    def windows(self) -> int:
        """Windows of each of the batches."""
        return self.batch.past_y.shape[1]

    def of(self, place: int) -> Batch:
        """Return the batch of one training."""
        number = self.places.index(place)
        return Batch(*(None if item is None else item[number] for item in self.batch))


class StackedBatches:
    """Draws for each training the batch that it would have drawn by itself.

    Trainings that cut windows out of the same panel in the same way share one indexing operation. The last batch of an
    epoch has fewer windows than the others, and epochs of trainings on different data end at different steps: batches
    are stacked with those of the same size.
    """

    def __init__(self, loaders: Sequence[WindowLoader]) -> None:
        self._loaders = loaders
        first = loaders[0].batcher
        self._shared = first if all(_is_same(first, loader.batcher) for loader in loaders) else None
        self._epochs: dict[int, Iterator[tuple[Ints, Ints]]] = {}

    def draw(self, states: dict[int, TrainingState]) -> list[StackedBatch]:
        """Return the next batches of some trainings, from the state of each by its number."""
        by_size: dict[int, list[tuple[int, tuple[Ints, Ints]]]] = {}
        for place, state in states.items():
            if state.batch == 0 or place not in self._epochs:
                self._epochs[place] = self._loaders[place].places(state.epoch, state.batch)
            found = next(self._epochs[place])
            by_size.setdefault(len(found[1]), []).append((place, found))
        return [self._stack(size, members) for size, members in by_size.items()]

    def _stack(self, size: int, members: list[tuple[int, tuple[Ints, Ints]]]) -> StackedBatch:
        places = [place for place, _ in members]
        if self._shared is not None:
            series, rows = (np.concatenate(parts) for parts in zip(*(found for _, found in members), strict=True))
            joined = self._shared.windows(series, rows)
            parts = (None if item is None else item.unflatten(0, (len(places), size)) for item in joined)
            return StackedBatch(places, Batch(*parts))
        batches = [self._loaders[place].batcher.windows(*found) for place, found in members]
        return StackedBatch(
            places, Batch(*(None if items[0] is None else torch.stack(items) for items in zip(*batches, strict=True)))
        )


class CachedLoader(Loader):
    """Keeps the batches of a loader in memory, for several trainings that are validated on the same windows."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._batches: list[Batch] = []

    def __len__(self) -> int:
        return len(self._loader)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        if not self._batches:
            self._batches = list(self._loader.epoch(0))
        return iter(self._batches[start:])


def _is_same(one: WindowBatcher, other: WindowBatcher) -> bool:
    """Whether two batchers make the same batches: their settings are equal, and their arrays the same objects."""
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if mine is not theirs and (
            isinstance(mine, np.ndarray) or field.name in ("panel", "covariates") or mine != theirs
        ):
            return False
    return True
