"""What a training step needs of memory, as a function of the batch size.

Short trainings of a copy, with two small numbers of rows, tell it for any number. A step makes the same allocations in
the same order whatever its batch size is, so each point of it holds ``fixed + growth * batch_size`` bytes, and both
numbers follow from two sizes. The peak is the highest of these lines. It cannot be told from the peaks of small
batches, because those lie where all gradients and the state of the optimizer are there, and that of a large batch where
the backward pass begins.

Allocations are those that torch's allocator reports to its profiler, to the byte, with what operations take for
themselves. The resident set of the process, which the system could be asked for, also has what other threads do, what
the allocator keeps, and everything that was there before. It is the older of torch's two profilers, because the newer
one writes to the error stream.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import DivergedError
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.loader import Loader, WindowLoader
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.gradients.estimators.autodiff import Autodiff
from neuro_divergent.training.memory import unexplained
from neuro_divergent.training.objective import LossFunction, Restore

Floats = npt.NDArray[np.float64]

_FEWEST = 2  # rows of the first trial; layers that normalise over a batch refuse a single row
MOST_ROWS = 256  # of the last one; an operation that goes another way with more rows mostly does so before
_SAFE = 0.25  # share of the memory that a trial may take by what smaller ones have shown


class Trace(NamedTuple):
    """What two steps of one batch size held, in bytes.

    Attributes:
        weights: Weights and buffers.
        gradients: Gradients of all weights that are trained.
        optimizer: What the optimizer keeps from step to step.
        held: What was there after each allocation and release, beside weights and buffers.
    """

    weights: int
    gradients: int
    optimizer: int
    held: Floats


@dataclass(frozen=True, eq=False)
class StepMemory:
    """Bytes that training needs, in steps of any batch size; validation is not looked at.

    Attributes:
        weights: Weights and buffers.
        gradients: Gradients of all weights that are trained.
        optimizer: What the optimizer keeps from step to step.
        fixed: For each point of a step, what is there beside weights and buffers whatever the batch size is.
        growth: For each point of a step, what a row of the batch adds.
    """

    weights: int
    gradients: int
    optimizer: int
    fixed: Floats
    growth: Floats

    def peak(self, batch_size: int) -> int:
        """Return the most that is there at any point, with weights and buffers."""
        return self.weights + int(np.max(self.fixed + self.growth * batch_size))

    def activations(self, batch_size: int) -> int:
        """Return what is there at the peak beside weights, gradients and optimizer state: the batch and its results."""
        return max(self.peak(batch_size) - self.weights - self.gradients - self.optimizer, 0)

    def largest(self, memory: float) -> int:
        """Return the largest batch size that needs at most ``memory`` bytes beside the weights; 0 if none does."""
        grows = self.growth > 0
        if np.any(self.fixed[~grows] > memory):
            return 0
        room = (memory - self.fixed[grows]) / self.growth[grows]
        return max(int(np.min(room)), 0) if room.size else np.iinfo(np.int64).max


def measure_step(
    module: nn.Module,
    loss: LossFunction,
    batch: Any,
    config: TrainingConfig,
    *,
    memory: float,
    restore: Restore | None = None,
) -> StepMemory:
    """Find out what steps need, from a few steps of a copy of the network with few rows.

    Args:
        module: Network; it is left as it is.
        loss: As for a ``Trainer``.
        batch: A batch like those of training, of any size; from ``MOST_ROWS`` rows on none comes twice.
        config: How it will be trained.
        memory: Bytes that are free; trials stay far below.
        restore: As for a ``Trainer``.
    """

    def trial(rows: int) -> Trace:
        return try_step(module, loss, take_rows(batch, rows), config, restore=restore)

    traces = {rows: trial(rows) for rows in (_FEWEST, 2 * _FEWEST)}
    few = _lines(traces, _FEWEST)
    rows = MOST_ROWS
    while rows > 2 * _FEWEST and few.peak(rows) > _SAFE * memory:
        rows //= 2
    lines = few
    # Operations may go another way from some number of rows on, so that the points of two sizes do not correspond.
    # Larger sizes are closer to what is asked for: they are tried first.
    while rows > 2 * _FEWEST:
        for size in (rows, rows // 2):
            if size not in traces:
                traces[size] = trial(size)
        if _correspond(traces, rows // 2):
            lines = _lines(traces, rows // 2)
            break
        rows //= 2
    held = config.accumulate + config.prefetch + 1  # batches of a step, those that wait, and the one that is drawn
    best = lines.weights if config.early_stopping is not None and config.early_stopping.restore_best else 0
    return StepMemory(
        lines.weights,
        lines.gradients,
        lines.optimizer,
        lines.fixed + best,
        lines.growth + held * row_bytes(batch),
    )


def try_step(
    module: nn.Module, loss: LossFunction, batch: Any, config: TrainingConfig, *, restore: Restore | None = None
) -> Trace:
    """Train a copy of a network for two steps of a batch, and see what it takes."""
    count = min(config.accumulate, 2)  # the second batch finds the gradients of the first, as all later ones do
    gradient = Autodiff() if config.gradient.numerical else config.gradient
    # The first step makes the state of the optimizer, the second finds it there.
    short = config.for_trial(2, accumulate=count, schedule="constant", gradient=gradient)

    def train() -> Trainer:
        # The copy is made here, because the profiler cannot tell the size of what was there before it.
        copied = copy.deepcopy(module).to(resolve_device(config.device))
        trainer = Trainer(copied, loss, short, restore=restore)
        with unexplained(), suppress(DivergedError):  # which is said at the end of the last step
            trainer.fit([batch] * count)
        return trainer

    with _collecting_later(), seeded(config.seed):
        trainer, changes = _changes(train)
        weights = tensor_bytes([*trainer.module.parameters(), *trainer.module.buffers()])
        trained = tensor_bytes(item for group in trainer.optimizer.param_groups for item in group["params"])
        held = np.cumsum(changes, dtype=np.float64) - weights
        trace = Trace(weights, trained, state_bytes(trainer.optimizer), held)
        del trainer
    return trace


def draw(loader: Loader, rows: int | None = None) -> Any:
    """Return a first batch, of that many rows where the loader can be told how many."""
    if rows is not None and isinstance(loader, WindowLoader):
        loader = copy.copy(loader)
        loader.order = replace(loader.order, batch_size=rows)
    return next(iter(loader.epoch(0)))


def rows_per_batch(loader: Loader) -> int:
    """Return the rows of the first batch of a loader."""
    if isinstance(loader, WindowLoader):
        return min(loader.order.batch_size, len(loader.windows))
    return num_rows(draw(loader))


def num_rows(batch: Any) -> int:
    """Return the number of rows of a batch."""
    return len(batch[0])


def row_bytes(batch: Any) -> float:
    """Return the bytes of a row of a batch. What several tensors share counts once, and so does what one repeats."""
    blocks: dict[int, tuple[int, int]] = {}
    for item in batch:
        if isinstance(item, Tensor):
            block = item.untyped_storage()
            _, seen = blocks.get(block.data_ptr(), (0, 0))
            blocks[block.data_ptr()] = block.nbytes(), seen + item.nbytes
    return sum(min(sizes) for sizes in blocks.values()) / num_rows(batch)


def tensor_bytes(items: Iterable[Any]) -> int:
    """Return the bytes of those items that are tensors."""
    return sum(item.nbytes for item in items if isinstance(item, Tensor))


def state_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Return the bytes of what an optimizer keeps from step to step."""
    return tensor_bytes(item for kept in optimizer.state.values() for item in kept.values())


def take_rows(batch: Any, rows: int) -> Any:
    """Return a batch of the first ``rows`` rows, which come again from the first on where there are not as many."""
    present = num_rows(batch)
    numbers = torch.arange(rows) % present

    def take(item: Any) -> Any:
        if not isinstance(item, Tensor) or item.ndim == 0 or len(item) != present:
            return item
        return item[:rows] if rows <= present else item[numbers.to(item.device)]

    parts = [take(item) for item in batch]
    return Batch(*parts) if isinstance(batch, Batch) else tuple(parts)


def _changes(work: Callable[[], Trainer]) -> tuple[Trainer, list[int]]:
    """Return what work returns, and the bytes that each allocation takes and, below zero, each release gives back."""
    settings = (False, True, False, False, False)  # of shapes, memory, stacks, operations and modules: memory
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, *settings, _ExperimentalConfig()))
    try:
        trainer = work()
    finally:
        events = [event for thread in _disable_profiler_legacy() for event in thread]
    events = [event for event in events if str(event.kind()) == "memory_alloc"]
    on_cpu = trainer.device.type == "cpu"
    return trainer, [event.cpu_memory_usage() if on_cpu else event.cuda_memory_usage() for event in events]


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Let Python collect what becomes garbage inside the block at its end only.

    Else it would release memory at other points of each trial. What was made inside is all of the youngest generation,
    so the network and its optimizer, which hold each other, go without a search through everything.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)
        if was_on:
            gc.enable()


def _correspond(traces: dict[int, Trace], rows: int) -> bool:
    return len(traces[rows].held) == len(traces[2 * rows].held)


def _lines(traces: dict[int, Trace], rows: int) -> StepMemory:
    """Return the lines through the points of two sizes.

    Where those do not correspond, everything is taken to grow with the batch, which is more than it can be.
    """
    few, many = traces[rows], traces[2 * rows]
    growth = (many.held - few.held) / rows if _correspond(traces, rows) else many.held / (2 * rows)
    return StepMemory(many.weights, many.gradients, many.optimizer, many.held - growth * 2 * rows, growth)
