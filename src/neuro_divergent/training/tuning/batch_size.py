"""Finding the largest batch that fits in memory.

On a CPU a process that takes too much is killed rather than refused, so nothing is tried that may not fit: what a step
needs is measured with few rows, and follows for many. On a GPU the result is tried as well, since a refusal there can
be caught.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import InputError, OutOfMemoryError
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.core.nested import num_rows
from neuro_divergent.core.seeding import seeded
from neuro_divergent.data.loader import Loader, Order, WindowLoader, as_loader, num_items
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.memory import free_memory, is_refusal, plannable
from neuro_divergent.training.objective import LossFunction, Restore
from neuro_divergent.training.tuning.step_memory import (
    MOST_ROWS,
    draw,
    measure_step,
    take_rows,
    tensor_bytes,
    try_step,
)

if TYPE_CHECKING:
    from torch import nn

# Kernels work on tiles of 8 rows or a multiple: a tile that is not full takes as long as one that is.
_TILE = 8


def find_batch_size(
    module: nn.Module,
    loss: LossFunction,
    train: Any,
    config: TrainingConfig | None = None,
    *,
    memory: int | None = None,
    restore: Restore | None = None,
) -> int:
    """Find the largest batch size whose training step is sure to fit in the free memory.

    80 % of it are planned with and, on a CPU, the gaps that an allocator leaves between its blocks. A step is forward
    and backward pass and the step of the optimizer, with what the configuration adds to them. The network, the random
    state and the configuration are left as they are.

    Args:
        module: Network to be trained.
        loss: As for a ``Trainer``.
        train: As for ``Trainer.fit``; of batches that are made already only their rows are used, not their size.
        config: How it will be trained; its batch size is not looked at.
        memory: Bytes to fit into instead of the free memory, besides the network and everything else that is there
            already.
        restore: As for a ``Trainer``.

    Returns:
        At most the number of training items; below that, a multiple of 8 from 8 on, which kernels do best with.

    Raises:
        OutOfMemoryError: If not even one row fits.
        InputError: If it is not known how much memory is free, and ``memory`` does not say it.

    Examples:
        A part of 1,000 items fits in two megabytes, and all of them in a gigabyte:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network, data = torch.nn.Linear(100, 100), (torch.ones(1000, 100), torch.ones(1000, 100))
        >>> small = nd.training.find_batch_size(network, nd.losses.MSE(), data, memory=2**21)
        >>> large = nd.training.find_batch_size(network, nd.losses.MSE(), data, memory=2**30)
        >>> 8 <= small < 1000, small % 8, large
        (True, 0, 1000)
    """
    config = config or TrainingConfig()
    device = resolve_device(config.device)
    free = free_memory(device) if memory is None else memory
    if free is None:
        raise InputError(f"how much memory is free on {device.type!r} is not known: pass memory= in bytes.")
    room = plannable(free, device)
    weights = tensor_bytes(module.parameters())
    if 2 * weights > room:  # a copy to measure with and its gradients would be too much already
        raise OutOfMemoryError(_nothing_fits(2 * weights, free))
    # A random order of batches may be drawn before training has seeded anything.
    with seeded(config.seed):
        loader = as_loader(train, Order(batch_size=MOST_ROWS, shuffle=False), device)
        if not len(loader):
            raise InputError("there is no batch to measure with.")
        batch = draw(loader, MOST_ROWS)
    need = measure_step(module, loss, batch, config, memory=room, restore=restore)
    size = min(_whole_tiles(need.largest(room)), _num_items(train, loader, batch))
    while device.type == "cuda" and size > 1:
        try:
            try_step(module, loss, take_rows(batch, size), config, restore=restore)
            break
        except RuntimeError as error:
            if not is_refusal(error):
                raise
            size = _whole_tiles(min(int(size * 0.9), size - 1))
    if size < 1:
        raise OutOfMemoryError(_nothing_fits(need.peak(1) - need.weights, free))
    return size


def _whole_tiles(size: int) -> int:
    return size - size % _TILE if size > _TILE else size


def _num_items(train: Any, loader: Loader, batch: Any) -> int:
    """Return the number of training items, or a little more where only the number of batches is known."""
    if isinstance(loader, WindowLoader):
        return len(loader.windows)
    return num_items(train) or len(loader) * num_rows(batch[0])


def _nothing_fits(need: float, free: int) -> str:
    return (
        f"no batch size fits in memory: a step with one row needs more than {format_bytes(need)} besides the network, "
        f"and {format_bytes(free)} are free. Choose a smaller model, an optimizer with less state or a shorter history."
    )
