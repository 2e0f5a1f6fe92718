"""Running a chain of blocks in segments that forget their activations and work them out again when they are needed.

The backward pass reads the activations of each block, whose memory grows with the number of blocks. A segment keeps
only its input and runs a second time in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from neuro_divergent.core.errors import InputError

Block = Callable[[Any], Any]


def run_in_segments(owner: nn.Module, blocks: Sequence[Block], every: int, state: Any) -> Any:
    """Pass a state through blocks, forgetting the activations of all segments but the last.

    The last segment keeps its activations, since the backward pass begins with them. The second run draws the same
    random numbers as the first and counts nothing twice, so results and gradients are those of an ordinary run, to the
    bit. Without gradients, and with ``every = 0``, it is an ordinary run; so is compiled code with running statistics,
    which would be counted twice there.

    Args:
        owner: The module whose parts the blocks are.
        blocks: Functions of the state that return the next one; none may modify its input in place.
        every: Blocks per segment.
        state: A tensor or a tuple of tensors.
    """
    counting = [part for part in owner.modules() if getattr(part, "running_mean", None) is not None] if every else []
    if not every or not torch.is_grad_enabled() or (counting and torch.compiler.is_compiling()):
        return _run(blocks, state)
    for start in range(0, len(blocks), every):
        segment = blocks[start : start + every]
        state = _run(segment, state) if start + every >= len(blocks) else _run_forgetting(segment, state, counting)
    return state


def _run_forgetting(segment: Sequence[Block], state: Any, counting: Sequence[nn.Module]) -> Any:
    """Run a segment that will be run again; ``counting`` are the modules that must not count its rows twice."""
    if torch.compiler.is_compiling():  # which takes in neither contexts nor versions
        return checkpoint(_run, segment, state, use_reentrant=False)

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), _not_counting(counting)

    before = _versions(state)
    following = checkpoint(_run, segment, state, use_reentrant=False, context_fn=contexts)
    if _versions(state) != before:
        raise InputError(
            "activations cannot be recomputed, because a segment modifies its input in place. Is an activation with "
            "inplace=True at its start? Make it inplace=False."
        )
    return following


def _run(blocks: Sequence[Block], state: Any) -> Any:
    for block in blocks:
        state = block(state)
    return state


def _versions(state: Any) -> list[int]:
    """Return how often each tensor has been written to."""
    tensors = state if isinstance(state, tuple) else (state,)
    return [tensor._version for tensor in tensors if isinstance(tensor, Tensor)]


@contextmanager
def _not_counting(parts: Sequence[nn.Module]) -> Iterator[None]:
    """Let normalisation layers update copies of their running statistics."""
    own = [dict(part._buffers) for part in parts]
    for part in parts:
        part._buffers.update({name: value.clone() for name, value in part._buffers.items() if value is not None})
    try:
        yield
    finally:
        for part, buffers in zip(parts, own, strict=True):
            part._buffers.update(buffers)
