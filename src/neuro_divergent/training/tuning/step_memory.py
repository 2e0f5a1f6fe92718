"""What a training step needs of memory, as a function of the batch size.

Short trainings of a copy of the network, with more and more rows, are measured. The peak of few rows says little about
many: it lies where the optimizer steps, and that of many rows where the backward pass begins. So the number of rows is
raised until the peak grows along a straight line, or until the next trial might not fit; from there on the line is
prolonged.

On a CPU the allocations are those that torch's profiler reports, to the byte, with what operations take for themselves.
The resident set of the process would also have what other threads do, what the allocator keeps, and everything that was
there before.
"""

from __future__ import annotations

import copy
import gc
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import DivergedError
from neuro_divergent.core.nested import num_rows, tensors_in
from neuro_divergent.core.seeding import seeded
from neuro_divergent.data.loader import Loader, WindowLoader
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.gradients.estimators.autodiff import Autodiff
from neuro_divergent.training.memory import is_refusal, unexplained
from neuro_divergent.training.objective import LossFunction, Restore, select_rows
from neuro_divergent.training.strategy import SingleDevice

_FEWEST = 2  # rows of the first trial; layers that normalise over a batch refuse a single row
_RAISE = 4  # rows of a trial by those of the one before
MOST_ROWS = 256  # up to which trials are always made; an operation that changes its algorithm mostly does so before
_GROWING = 0.8  # fraction of the peak that must grow with the rows before the line is prolonged
_STRAIGHT = 1.02  # growth between the last two sizes by that between the two before, at most
_QUIET = "99"  # level of messages of torch's profiler, which else writes to the error stream


class StepMeasurement(NamedTuple):
    """What two steps of one batch size held, in bytes, as in ``StepMemory``, with the peak of that size."""

    weights: int
    gradients: int
    optimizer: int
    peak: int


@dataclass(frozen=True)
class StepMemory:
    """Bytes that training needs, in steps of any batch size; validation is not looked at.

    Attributes:
        weights: Weights and buffers.
        gradients: Gradients of all weights that are trained.
        optimizer: State of the optimizer.
        points: Batch sizes, rising, with the peak of each besides weights and buffers.
    """

    weights: int
    gradients: int
    optimizer: int
    points: tuple[tuple[int, float], ...]

    def peak(self, batch_size: int) -> int:
        """Return the most that is there at any point, with weights and buffers.

        Between two sizes that were measured it lies on the line through them, and beyond the last on that through the
        last two. Where there is only one, all of it is taken to grow with the batch, which is more than it can be.
        """
        below = max([index for index, (size, _) in enumerate(self.points) if size <= batch_size], default=0)
        (size, peak), *more = self.points[max(min(below, len(self.points) - 2), 0) :]
        after, higher = more[0] if more else (2 * size, 2 * peak)
        slope = max(higher - peak, 0.0) / (after - size)
        return self.weights + int(peak + slope * max(batch_size - size, 0))

    def activations(self, batch_size: int) -> int:
        """Return the peak without weights, gradients and optimizer state: the batch and its intermediate results."""
        return max(self.peak(batch_size) - self.weights - self.gradients - self.optimizer, 0)

    def largest(self, memory: float) -> int:
        """Return the largest batch size that needs at most ``memory`` bytes besides the weights; 0 if none does."""
        low, high = 0, 1 << 48
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.peak(middle) - self.weights <= memory else (low, middle)
        return low


def measure_step(
    module: nn.Module,
    loss: LossFunction,
    batch: Any,
    config: TrainingConfig,
    *,
    memory: float,
    restore: Restore | None = None,
) -> StepMemory:
    """Find out what steps need, from a few steps of a copy of the network.

    The rows of the batch, of any size, are repeated where more are needed. After the first trial, none is made that
    might need more than ``memory`` bytes. The other arguments are as for a ``Trainer``.
    """
    held = (config.accumulate + config.prefetch + 1) * row_bytes(batch)  # of the step, waiting, and being drawn
    best = config.early_stopping is not None and config.early_stopping.restore_best
    points: list[tuple[int, float]] = []
    rows, measured = _FEWEST, None
    while True:
        try:
            trial = try_step(module, loss, take_rows(batch, rows), config, restore=restore)
        except (MemoryError, RuntimeError) as error:
            if measured is None or not is_refusal(error):
                raise
            break
        measured = trial
        points.append((rows, trial.peak + best * trial.weights + held * rows))
        sure = int(rows * memory / points[-1][1])  # at most everything grows with the rows
        following = min(_RAISE * rows, sure)
        if following <= 1.1 * rows or (rows >= MOST_ROWS and _is_straight(points)):
            break
        rows = following
    return StepMemory(measured.weights, measured.gradients, measured.optimizer, tuple(points))


def try_step(
    module: nn.Module, loss: LossFunction, batch: Any, config: TrainingConfig, *, restore: Restore | None = None
) -> StepMeasurement:
    """Train a copy of a network for two steps of a batch, and measure what it takes."""
    count = min(config.accumulate, 2)  # the second batch finds the gradients of the first, as all later ones do
    gradient = Autodiff() if config.gradient.numerical else config.gradient
    # The first step makes the state of the optimizer, the second finds it there.
    short = config.for_trial(2, accumulate=count, schedule="constant", gradient=gradient)

    def train() -> Trainer:
        # The copy is made here, because the profiler cannot tell the size of what was there before it.
        copied = copy.deepcopy(module).to(resolve_device(config.device))
        trainer = Trainer(copied, loss, short, restore=restore, strategy=SingleDevice())  # no other process helps
        with unexplained(), suppress(DivergedError):  # which is raised at the end of the last step
            trainer.fit([batch] * count)
        return trainer

    with _collecting_later(), seeded(config.seed):
        measure = _cuda_peak if resolve_device(config.device).type == "cuda" else _cpu_peak
        trainer, peak = measure(train)
        weights = tensor_bytes([*trainer.module.parameters(), *trainer.module.buffers()])
        trained = tensor_bytes(item for group in trainer.optimizer.param_groups for item in group["params"])
        measured = StepMeasurement(weights, trained, state_bytes(trainer.optimizer), peak - weights)
        del trainer
    return measured


def draw(loader: Loader, rows: int | None = None) -> Any:
    """Return a first batch, of that many rows where the loader allows it."""
    if rows is not None and isinstance(loader, WindowLoader):
        loader = copy.copy(loader)
        loader.order = replace(loader.order, batch_size=rows)
    return next(iter(loader.epoch(0)))


def rows_per_batch(loader: Loader) -> int:
    """Return the rows of the first batch of a loader."""
    if isinstance(loader, WindowLoader):
        return min(loader.order.batch_size, len(loader.windows))
    return num_rows(draw(loader)[0])


def row_bytes(batch: Any) -> float:
    """Return the bytes of a row of a batch. What several tensors share counts once, and so does what one repeats."""
    blocks: dict[int, tuple[int, int]] = {}
    for item in tensors_in(batch):
        block = item.untyped_storage()
        _, seen = blocks.get(block.data_ptr(), (0, 0))
        blocks[block.data_ptr()] = block.nbytes(), seen + item.nbytes
    return sum(min(sizes) for sizes in blocks.values()) / num_rows(batch[0])


def tensor_bytes(items: Iterable[Any]) -> int:
    """Return the bytes of those items that are tensors."""
    return sum(item.nbytes for item in items if isinstance(item, Tensor))


def state_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Return the bytes of what an optimizer keeps from step to step."""
    return tensor_bytes(item for kept in optimizer.state.values() for item in kept.values())


def take_rows(batch: Any, rows: int) -> Any:
    """Return a batch of the first ``rows`` rows, which are repeated from the first on where there are not as many."""
    present, device = num_rows(batch[0]), next(tensors_in(batch[0])).device
    return select_rows(batch, slice(rows) if rows <= present else torch.arange(rows, device=device) % present)


def _is_straight(points: list[tuple[int, float]]) -> bool:
    """Whether most of the last peak grows with the rows, and as fast as between the two sizes before."""
    (first, low), (middle, peak), (last, high) = points[-3:]
    before, now = (peak - low) / (middle - first), (high - peak) / (last - middle)
    return now * last >= _GROWING * high and now <= _STRAIGHT * before


def _cuda_peak(work: Callable[[], Trainer]) -> tuple[Trainer, int]:
    """Return what work returns, and the most bytes that were allocated in it on the current device."""
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    trainer = work()
    return trainer, torch.cuda.max_memory_allocated() - before


def _cpu_peak(work: Callable[[], Trainer]) -> tuple[Trainer, int]:
    """Return what work returns, and the most bytes that were allocated in it."""
    from torch.profiler import ProfilerActivity, profile

    level = os.environ.get("KINETO_LOG_LEVEL")
    os.environ["KINETO_LOG_LEVEL"] = level or _QUIET
    try:
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            trainer = work()
    finally:
        if level is None:
            del os.environ["KINETO_LOG_LEVEL"]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "trace.json")
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_text("utf-8"))["traceEvents"]
    changes = [event for event in trace if event["name"] == "[memory]"]
    held = peak = 0
    for event in sorted(changes, key=lambda event: (event["ts"], event["args"]["Ev Idx"])):
        held += event["args"]["Bytes"]  # below zero where memory is released
        peak = max(peak, held)
    return trainer, peak


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Let Python collect what becomes garbage inside the block at its end only.

    Else it would release memory at other points of each trial. What was made inside is all of the youngest generation,
    so the network and its optimizer, which refer to each other, go without a search through everything.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)
        if was_on:
            gc.enable()
