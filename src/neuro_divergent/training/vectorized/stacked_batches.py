"""The batches of several trainings, one of each for every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.loader import Loader, WindowLoader
from neuro_divergent.training.state import TrainingState

Value = TypeVar("Value")


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
        parts: list[Any] = [None if item is None else item[number] for item in self.batch]
        return Batch(*parts)


class StackedBatches:
    """Draws for each training the batch that it would have drawn by itself.

    Trainings that cut windows out of the same panel in the same way share one indexing operation. The last batch of an
    epoch has fewer windows than the others, and epochs of trainings on different data end at different steps: batches
    are stacked with those of the same size.
    """

    def __init__(self, loaders: Sequence[WindowLoader]) -> None:
        self._loaders = loaders
        first = loaders[0].batcher
        self._shared = first if all(first.is_same(loader.batcher) for loader in loaders) else None
        self._epochs: dict[int, Iterator[tuple[Ints, Ints]]] = {}

    def draw(self, states: dict[int, TrainingState]) -> list[StackedBatch]:
        """Return the next batches of some trainings, from the state of each by its number."""
        found: dict[int, tuple[Ints, Ints]] = {}
        for place, state in states.items():
            if state.batch == 0 or place not in self._epochs:
                self._epochs[place] = self._loaders[place].read(state.epoch, state.batch)
            found[place] = next(self._epochs[place])
        if self._shared is not None:
            sizes = _by_value({place: len(rows) for place, (_, rows) in found.items()})
            return [self._cut([found[place] for place in places], size, places) for size, places in sizes]
        batches = {place: self._loaders[place].batcher.windows(*windows) for place, windows in found.items()}
        shapes = {place: tuple(item is not None and item.shape for item in batch) for place, batch in batches.items()}
        return [_stack([batches[place] for place in places], places) for _, places in _by_value(shapes)]

    def _cut(self, windows: list[tuple[Ints, Ints]], size: int, places: list[int]) -> StackedBatch:
        """Cut the windows of several trainings at once."""
        assert self._shared is not None
        series, rows = (np.concatenate(arrays) for arrays in zip(*windows, strict=True))
        joined = self._shared.windows(series, rows)
        parts: list[Any] = [None if item is None else item.view(-1, size, *item.shape[1:]) for item in joined]
        return StackedBatch(places, Batch(*parts))


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


def _stack(batches: list[Batch], places: list[int]) -> StackedBatch:
    """Stack batches of the same shape."""
    fields = zip(*batches, strict=True)
    parts: list[Any] = [None if items[0] is None else torch.stack(items) for items in fields]
    return StackedBatch(places, Batch(*parts))


def _by_value(values: dict[int, Value]) -> list[tuple[Value, list[int]]]:
    """Return each value once, with the numbers that have it."""
    found: dict[Value, list[int]] = {}
    for number, value in values.items():
        found.setdefault(value, []).append(number)
    return list(found.items())
