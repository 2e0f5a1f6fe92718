"""Running out of memory: how much is free, and what to say when it was not enough."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

import torch

from neuro_divergent.core.available_memory import available_memory
from neuro_divergent.core.errors import OutOfMemoryError
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.training.recompute import choose_every

if TYPE_CHECKING:
    from neuro_divergent.data.loader import Loader
    from neuro_divergent.training.engine import Trainer
    from neuro_divergent.training.tuning.step_memory import StepMemory

_MARGIN = 0.8  # fraction of the free memory that is planned with; the rest is for validation and for other processes
# What blocks take in the heap of the C library, by what is in them: it cannot fill the gaps between aligned blocks with
# others of the same size. benchmarks/auto_batch_size.py measures up to 1.72.
_GAPS = 1.75
_REFUSALS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "std::bad_alloc",
    "running the callback: MemoryError",  # where several processes add up gradients
)
_UNEXPLAINED: ContextVar[bool] = ContextVar("unexplained", default=False)


def free_memory(device: torch.device | None = None) -> int | None:
    """Return the bytes of a device that this process can still take, or ``None`` where it is not known."""
    if device is not None and device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    if device is not None and device.type != "cpu":
        return None
    return available_memory()


@contextmanager
def explaining_memory(trainer: Trainer, loader: Loader) -> Iterator[None]:
    """Turn a lack of memory inside the block into an error that says what needs how much and what to lower.

    Enter it once around training, outside of ``keeping_memory`` and of what changes the module for the time of it:
    what a step needs is measured when it did not fit, in small steps of a copy, and takes nothing while it does.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_refusal(error) or _UNEXPLAINED.get():
            raise
        # The results of the step that failed are still there, in the variables of the functions it went through.
        traceback.clear_frames(error.__traceback__)
        for parameter in trainer.module.parameters():
            parameter.grad = None
        raise OutOfMemoryError(_explain(trainer, loader)) from error


@contextmanager
def unexplained() -> Iterator[None]:
    """Leave a lack of memory inside the block as it is: the code that measures what a step needs handles it."""
    token = _UNEXPLAINED.set(True)
    try:
        yield
    finally:
        _UNEXPLAINED.reset(token)


def plannable(free: float, device: torch.device) -> float:
    """Return how many bytes of tensors may be planned with where ``free`` bytes are free."""
    return _MARGIN * free / (_GAPS if device.type == "cpu" else 1.0)


def is_refusal(error: BaseException) -> bool:
    """Whether an error reports a failed allocation, and is not already an ``OutOfMemoryError`` of ours."""
    if isinstance(error, OutOfMemoryError):
        return False
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _REFUSALS)


def _explain(trainer: Trainer, loader: Loader) -> str:
    """Say in one line what is too much, and what to change."""
    # Here, because that module trains itself.
    from neuro_divergent.training.tuning.step_memory import MOST_ROWS, draw, measure_step, rows_per_batch, state_bytes

    optimizer = getattr(trainer, "optimizer", None)
    free = free_memory(trainer.device)
    if free is not None and optimizer is not None:
        free += state_bytes(optimizer)  # which is there already, and part of what is needed
    rows: int | None = None
    need: StepMemory | None = None
    with suppress(MemoryError, RuntimeError):  # there may be too little memory even to find out how much is needed
        rows = rows_per_batch(loader)
        need = measure_step(
            trainer.module,
            trainer.loss,
            draw(loader, MOST_ROWS),
            trainer.config,
            memory=0 if free is None else plannable(free, trainer.device),
            restore=trainer.objective.restore,
        )
    text = f"batch_size={rows or trainer.config.batch_size} does not fit in memory: a step "
    weights = sum(parameter.numel() for parameter in trainer.module.parameters())
    if need is None or rows is None:
        least = sum(parameter.nbytes for parameter in trainer.module.parameters())
        text += f"needs {format_bytes(least)} for {weights:,} weights, as much for their gradients, and more"
    else:
        text += (
            f"needs about {format_bytes(need.peak(rows))} ({weights:,} weights {format_bytes(need.weights)}, gradients "
            f"{format_bytes(need.gradients)}, optimizer {format_bytes(need.optimizer)}, activations "
            f"{format_bytes(need.activations(rows))})"
        )
        if trainer.device.type == "cpu":
            text += f", up to {format_bytes(_GAPS * need.peak(rows))} with the gaps between them"
    text += "." if free is None else f", and {format_bytes(free)} are free."
    fits = None if need is None or free is None else need.largest(plannable(free, trainer.device))
    return f"{text} {_advice(trainer, rows, fits)}"


def _advice(trainer: Trainer, rows: int | None, fits: int | None) -> str:
    """Say what to lower, from the rows of a batch and the number that fits, where those are known."""
    advice = []
    if rows is not None and fits is not None and 0 < fits < rows:
        parts = _parts(rows, fits)
        same = "the same" if rows % parts == 0 else "about the same"
        advice.append(
            f"lower batch_size to {rows // parts}, with accumulate={trainer.config.accumulate * parts} for {same} "
            "gradient"
        )
    elif rows != 1 and fits != 0:
        advice.append("lower batch_size")
    if trainer.config.recompute == 0 and choose_every(trainer.module):
        advice.append('set recompute="auto"')
    advice.append("choose a smaller model")
    text = ", or ".join(advice)
    return f"{text[0].upper()}{text[1:]}."


def _parts(batch_size: int, fits: int) -> int:
    """Return into how many batches to cut one, equal ones if that does not need twice as many."""
    least = -(-batch_size // fits)
    return next((parts for parts in range(least, 2 * least) if batch_size % parts == 0), least)
