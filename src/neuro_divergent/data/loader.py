"""Batches, epoch after epoch.

A loader is anything with ``epoch(number, start)`` and a length. The same epoch number yields the same batches, and
``start`` skips batches without computing them, so a position in training is an epoch and a batch number.
"""

from __future__ import annotations

import copy
import dataclasses
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter, methodcaller
from typing import Any, Literal, Protocol, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, default_collate

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.nested import map_tensors, num_rows, tensors_in
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.block_shuffle import BlockShuffle
from neuro_divergent.data.read_ahead import Place, ReadAhead, fits_memory
from neuro_divergent.data.replay import Replay
from neuro_divergent.data.sampling import BalancedSampling, ReplaySampling, Sampling
from neuro_divergent.data.shuffle import Permutation, Shuffle, in_order, shuffled
from neuro_divergent.data.windows import Windows

_CHUNK = 16_384  # items whose numbers are computed at once; many more would not fit the cache of the processor
_TRIED = 4  # batches that are read to measure how long it takes


class Loader(Protocol):
    """A source of batches for the engine."""

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Yield the batches of an epoch from batch ``start`` on."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Order and batch size of items.

    Attributes:
        batch_size: Items per batch.
        shuffle: Whether each epoch has its own random order, derived from ``seed``. With ``"blocks"`` it is that of
            ``blocks``, where they are given; ``"auto"`` is an exact order until blocks are chosen.
        blocks: How items are divided for a random order that reads a disk in blocks.
        seed: Seed of the random orders.
        drop_last: Whether a last batch that is not full is left out.
        rank: Number of the process that takes a part of each batch, from 0.
        world_size: Number of processes among which each batch is dealt out, item by item.
    """

    batch_size: int
    shuffle: Shuffle = True
    seed: int = 0
    drop_last: bool = False
    rank: int = 0
    world_size: int = 1
    blocks: BlockShuffle | None = None

    @property
    def permutation(self) -> Permutation:
        """The order of items."""
        if self.shuffle == "blocks" and self.blocks is not None:
            return self.blocks
        return shuffled if self.shuffle else in_order

    def part(self, rank: int, world_size: int) -> Order:
        """Return the order of one of several processes.

        Raises:
            ConfigError: If a full batch has fewer items than there are processes.
        """
        if self.batch_size < world_size:
            raise ConfigError(
                f"batch_size: {self.batch_size} windows cannot be dealt out to {world_size} processes; it is the size "
                "over all of them. Choose a larger one."
            )
        return dataclasses.replace(self, rank=rank, world_size=world_size)

    def num_batches(self, size: int) -> int:
        """Return the batches in an epoch over ``size`` items; a single short batch is never dropped."""
        full, rest = divmod(size, self.batch_size)
        return full + (1 if rest and not (self.drop_last and full) else 0)

    def stands_in(self, size: int, batch: int) -> bool:
        """Whether a batch of an epoch has no item for this process, which then gets one of another."""
        return min(size - batch * self.batch_size, self.batch_size) <= self.rank

    def batches(self, size: int, epoch: int, start: int) -> Iterator[Ints]:
        """Yield the item numbers of each batch of an epoch, or those of them that are for this process."""
        last = min(self.num_batches(size) * self.batch_size, size)
        chunk = max(_CHUNK // self.batch_size, 1) * self.batch_size
        for first in range(start * self.batch_size, last, chunk):
            numbers = self.permutation(np.arange(first, min(first + chunk, last)), size, self.seed, epoch)
            for begin in range(0, len(numbers), self.batch_size):
                whole = numbers[begin : begin + self.batch_size]
                yield whole if self.world_size == 1 else whole[min(self.rank, len(whole) - 1) :: self.world_size]


class WindowLoader(Loader):
    """Batches of windows of a panel.

    Windows of a panel on disk are read ahead of the batches; the batches are those of the same panel in memory.

    Args:
        by_time: Whether windows come in order of time instead of series after series; not together with shuffling.
        balance: How far long series give fewer windows to an epoch, from 0 to 1; only together with shuffling.
        replay: New rows and how many windows from before them an epoch has, instead of ``balance``; only together
            with shuffling.
        prefetch: Batches that a background thread keeps ready. Useful if the disk is slow; otherwise the thread only
            competes with the training step.
    """

    def __init__(
        self,
        windows: Windows,
        batcher: WindowBatcher,
        order: Order,
        *,
        by_time: bool = False,
        balance: float = 0,
        replay: Replay | None = None,
        prefetch: int = 0,
    ) -> None:
        self.windows = windows
        self.batcher = batcher
        self.order = order
        self.prefetch = prefetch
        self._numbers = windows.by_time() if by_time and not order.shuffle else None
        sampling: Sampling = BalancedSampling(windows, balance)
        if replay is not None:
            sampling = ReplaySampling(windows, replay)
        self._sampling = sampling if order.shuffle and sampling.is_needed else None
        if order.shuffle in ("blocks", "auto"):
            blocks = BlockShuffle.of(self.num_windows, batcher.panel.nbytes)
            self.order = dataclasses.replace(order, blocks=blocks)

    def __len__(self) -> int:
        return self.order.num_batches(self.num_windows)

    @property
    def num_windows(self) -> int:
        """Windows of an epoch."""
        return len(self.windows) if self._sampling is None else len(self._sampling)

    @property
    def takes_all(self) -> bool:
        """Whether an epoch has every window once, and the numbers of an order are those of the windows."""
        return self._sampling is None and self._numbers is None

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        batches = self._epoch(number, start)
        return ahead(batches, self.prefetch) if self.prefetch else batches

    def part(self, rank: int, world_size: int) -> Self:
        """Return the part of one of several processes: every batch has some of its windows for each."""
        part = copy.copy(self)
        part.order = self.order.part(rank, world_size)
        return part

    def reseeded(self, seed: int) -> Self:
        """Return the same windows in the order of another seed."""
        other = copy.copy(self)
        other.order = dataclasses.replace(self.order, seed=seed)
        return other

    def ordered(self, shuffle: Literal[True, "blocks"]) -> Self:
        """Return the same windows in an order that is exactly random, or random in blocks."""
        other = copy.copy(self)
        other.order = dataclasses.replace(self.order, shuffle=shuffle)
        return other

    @property
    def fits_memory(self) -> bool:
        """Whether the memory has room for all windows, so that a panel on disk is read from it after a while."""
        return fits_memory(self.batcher)

    def seconds_to_read(self) -> float:
        """Measure how long it takes to read and cut a batch of an exact random order, announced ahead."""
        places = list(islice(self.ordered(True).places(0, len(self) // 2), _TRIED))
        began = time.perf_counter()
        self.batcher.announce(np.concatenate([rows for _, rows in places]))
        for series, rows in places:
            self.batcher.windows(series, rows)
        return (time.perf_counter() - began) / len(places)

    def _epoch(self, number: int, start: int) -> Iterator[Batch]:
        for batch, (series, rows) in enumerate(self.read(number, start), start):
            made = self._made(series, rows)
            yield without_weight(made) if self.order.stands_in(self.num_windows, batch) else made

    def _made(self, series: Ints, rows: Ints) -> Batch:
        """Return the batch of some windows."""
        return self.batcher.windows(series, rows)

    def places(self, number: int, start: int = 0) -> Iterator[Place]:
        """Yield the series and first rows of the windows of each batch of an epoch, from batch ``start`` on."""
        for numbers in self.order.batches(self.num_windows, number, start):
            yield self._locate(numbers, number)

    def _locate(self, numbers: Ints, epoch: int) -> Place:
        """Return the series and first rows of the windows with some numbers in an epoch."""
        if self._sampling is not None:
            return self._sampling.locate(numbers, epoch)
        return self.windows.locate(numbers if self._numbers is None else self._numbers[numbers])

    def read(self, number: int, start: int = 0) -> Iterator[Place]:
        """Return what ``places`` yields, for batches that are cut at once: those of coming ones are read meanwhile.

        Drawing from it raises a ``StorageError`` if a file was truncated or changed since the panel was opened.
        """
        places = self.places(number, start)
        if not self.batcher.is_mapped:
            return places
        if isinstance(blocks := self.order.permutation, BlockShuffle):
            return self._checked(ReadAhead(self.batcher).blocks(places, self._visits(blocks, number, start)))
        return self._checked(ReadAhead(self.batcher).windows(places))

    def _checked(self, places: Iterator[Place]) -> Iterator[Place]:
        """Yield windows whose files are as they were: to touch what was cut off would end the process."""
        for place in places:
            self.batcher.panel.check_files()
            yield place

    def _visits(self, blocks: BlockShuffle, epoch: int, start: int) -> Iterator[tuple[Ints, Ints]]:
        """Yield for each batch the blocks to read from then on: first rows of the first and of the last window."""
        done, nothing = -1, np.empty(0, np.int64)
        for position in range(start * self.order.batch_size, blocks.size, self.order.batch_size):
            begin, wanted = blocks.visits_until(position)
            begin = max(begin, done)
            if wanted <= begin:
                yield nothing, nothing
                continue
            first, last = blocks.bounds(begin, wanted, self.order.seed, epoch)
            yield self._locate(first, epoch)[1], self._locate(last, epoch)[1]
            done = wanted


class TensorLoader(Loader):
    """Batches of rows of tensors of equal length, as tuples; inputs may be dicts, lists or tuples of tensors."""

    def __init__(self, tensors: tuple[Any, ...], order: Order, device: torch.device) -> None:
        sizes = [len(tensor) for tensor in tensors_in(tensors)]
        if not sizes or len(set(sizes)) > 1 or sizes[0] == 0:
            raise DataError(f"tensors to train on must have the same number of rows, at least 1; got {sizes}.")
        self._tensors = [map_tensors(methodcaller("to", device), item) for item in tensors]
        self._size = sizes[0]
        self._order = order

    def __len__(self) -> int:
        return self._order.num_batches(self._size)

    def part(self, rank: int, world_size: int) -> Self:
        """Return the part of one of several processes: every batch has some of its rows for each."""
        part = copy.copy(self)
        part._order = self._order.part(rank, world_size)
        return part

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Any, ...]]:
        device = next(tensors_in(self._tensors)).device
        for batch, numbers in enumerate(self._order.batches(self._size, number, start), start):
            rows = torch.from_numpy(np.ascontiguousarray(numbers)).to(device)
            made = tuple(map_tensors(itemgetter(rows), item) for item in self._tensors)
            yield without_weight(made) if self._order.stands_in(self._size, batch) else made


class DatasetLoader(Loader):
    """Batches of items of a torch ``Dataset``, in an order of its own: no ``DataLoader`` is needed.

    Items are stacked by torch's ``default_collate``. Workers, and another way to stack, are what a ``DataLoader`` is
    for.
    """

    def __init__(self, dataset: Any, order: Order, device: torch.device) -> None:
        if len(dataset) == 0:
            raise DataError("the data set to train on is empty.")
        self._dataset = dataset
        self._order = order
        self._device = device

    def __len__(self) -> int:
        return self._order.num_batches(len(self._dataset))

    def part(self, rank: int, world_size: int) -> Self:
        """Return the part of one of several processes: every batch has some of its items for each."""
        part = copy.copy(self)
        part._order = self._order.part(rank, world_size)
        return part

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        size = len(self._dataset)
        for batch, numbers in enumerate(self._order.batches(size, number, start), start):
            made = _moved(default_collate(self._items(numbers.tolist())), self._device)
            yield without_weight(made) if self._order.stands_in(size, batch) else made

    def _items(self, numbers: list[int]) -> list[Any]:
        if hasattr(self._dataset, "__getitems__"):
            return list(self._dataset.__getitems__(numbers))
        return [self._dataset[number] for number in numbers]


class IterableLoader(Loader):
    """Batches from anything that can be iterated over again and again, such as a list or a torch ``DataLoader``."""

    def __init__(self, batches: Iterable[Any], device: torch.device) -> None:
        if not isinstance(batches, Sized):
            raise DataError("batches to train on must have a length: pass a list, a DataLoader or tensors.")
        self._batches = batches
        self._device = device

    def __len__(self) -> int:
        return len(self._batches)

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Return the batches of an epoch from batch ``start`` on; those before are read and dropped right now."""
        batches = iter(self._batches)
        for _ in range(start):
            next(batches, None)
        return (_moved(batch, self._device) for batch in batches)


def as_loader(data: Any, order: Order, device: torch.device) -> Loader:
    """Return a loader for a loader, tensors, a torch ``Dataset`` or an iterable of batches.

    Tensors are inputs and targets, and weights if there are any; inputs may be dicts, lists or tuples of tensors.
    """
    if hasattr(data, "epoch"):
        return data  # type: ignore[no-any-return]
    if are_tensors(data):
        return TensorLoader(tuple(data), order, device)
    if isinstance(data, (Tensor, np.ndarray)):
        raise DataError(f"one {type(data).__name__} is not enough to train on: pass a pair, (inputs, targets).")
    if isinstance(data, (tuple, list)) and any(isinstance(item, np.ndarray) for item in data):
        raise DataError("arrays of NumPy have no gradients: pass tensors, such as torch.as_tensor(array).float().")
    if _is_dataset(data):
        return DatasetLoader(data, order, device)
    if isinstance(data, Iterable):
        return IterableLoader(data, device)
    raise DataError(
        f"cannot train on {type(data).__name__}: pass tensors, a Dataset, a DataLoader, a list of batches or a loader."
    )


def are_tensors(data: Any) -> bool:
    """Whether data are inputs and targets as tensors, where the inputs may be several in a dict, list or tuple."""
    if not isinstance(data, (tuple, list)) or not data:
        return False
    inputs, *others = data
    is_several = isinstance(inputs, (Mapping, list, tuple)) and bool(others)
    return (isinstance(inputs, Tensor) or (is_several and any(True for _ in tensors_in(inputs)))) and all(
        isinstance(item, Tensor) for item in others
    )


def num_items(data: Any) -> int:
    """Return the items of an epoch of tensors or of a torch ``Dataset``; 0 where batches are made elsewhere."""
    if are_tensors(data):
        return num_rows(data[0])
    return len(data) if _is_dataset(data) else 0


def _is_dataset(data: Any) -> bool:
    """Whether data are items of a torch ``Dataset``; one that can be iterated over gives batches."""
    return isinstance(data, Dataset) and isinstance(data, Sized) and not isinstance(data, Iterable)


def _moved(batch: Any, device: torch.device) -> Any:
    """Return a batch on a device, as a tuple if it is a list."""
    if isinstance(batch, Mapping):
        names = ", ".join(map(str, batch))
        raise DataError(f"a batch is a pair (inputs, targets), where inputs may be a dict; got one dict of {names}.")
    made = map_tensors(methodcaller("to", device), batch)
    return tuple(made) if isinstance(made, list) else made


def without_weight(batch: Any) -> Any:
    """Return a batch of which nothing counts: a ``Batch``, or a tuple of inputs and targets."""
    if isinstance(batch, Batch):
        assert batch.future_y is not None
        return batch._replace(future_mask=torch.zeros_like(batch.future_y))
    inputs, target, *_ = batch
    return inputs, target, torch.zeros_like(target, dtype=torch.get_default_dtype())


def ahead(batches: Iterator[Any], count: int) -> Iterator[Any]:
    """Yield the same batches while a thread prefetches up to ``count`` more."""
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=count)
    stopped = threading.Event()

    def put(item: tuple[str, Any]) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for batch in batches:
                if stopped.is_set():
                    return
                put(("batch", batch))
            put(("end", None))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits for the batch
            put(("error", error))

    thread = threading.Thread(target=work, name="batches", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = ready.get()
            if kind == "batch":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        stopped.set()
        thread.join()
