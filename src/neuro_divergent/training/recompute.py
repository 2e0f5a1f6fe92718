"""Trading time for memory: activations that are worked out again instead of kept (gradient checkpointing).

Two kinds of chains can be cut into segments: ``nn.Sequential``, and modules with a loop of their own over blocks, which
tell their ``num_blocks``, obey their ``recompute_every`` and run through ``core.segment``. Other loops cannot be cut
from outside, nor can the layers of ``nn.LSTM``, ``nn.GRU`` and ``nn.RNN``, which torch runs as one operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import MethodType
from typing import Any, Literal

from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.segment import run_in_segments


def recompute_activations(module: nn.Module, every: int) -> int:
    """Let a module keep only what goes into each segment while it is trained, and return the number of segments.

    A block of an ``nn.Sequential`` is a child with a weight matrix and the children without one that follow it. Of
    chains inside chains the longest is cut. Gradients stay the same to the bit, and so do the names of the weights.
    Forward hooks inside are called twice. ``choose_every`` finds the number of blocks per segment that needs least
    memory; a module without a chain of more blocks is refused. ``keep_activations`` undoes it.
    """
    if every < 1:
        raise ConfigError(f"activations cannot be recomputed every {every} blocks: it must be at least 1.")
    keep_activations(module)
    chains = _chains(module)
    chosen = {chain: blocks for chain, blocks in chains.items() if blocks > every}
    if not chosen:
        raise ConfigError(_nothing_to_do(module, every, max(chains.values(), default=0)))
    for chain in chosen:
        chain.recompute_every = every  # type: ignore[assignment]
        if _is_sequential(chain):
            vars(chain)["forward"] = MethodType(_forward_in_segments, chain)
    return sum(-(-blocks // every) for blocks in chosen.values())


def choose_every(module: nn.Module) -> int:
    """Return the number of blocks per segment that needs about the least memory, or 0 where nothing can be saved.

    A block of several layers keeps much more than goes into it, so each is a segment. A block of one layer keeps little
    else than that, and segments as long as the square root of the number of blocks balance what is kept with what is
    recomputed at once.
    """
    chains = _chains(module)
    if not chains:
        return 0
    longest = max(chains, key=lambda chain: chains[chain])
    layers = [sum(item.ndim > 1 for part in block for item in part.parameters()) for block in _blocks(longest)[1]]
    is_plain = _is_sequential(longest) and max(layers, default=0) <= 1
    every = max(2, round(math.sqrt(chains[longest]))) if is_plain else 1
    return every if chains[longest] > every else 0


def keep_activations(module: nn.Module) -> None:
    """Undo ``recompute_activations``."""
    for part in module.modules():
        if not hasattr(part, "recompute_every"):
            continue
        if _is_sequential(part):
            del vars(part)["forward"], vars(part)["recompute_every"]
        else:
            part.recompute_every = 0  # type: ignore[assignment]


@contextmanager
def recomputing(module: nn.Module, every: int | Literal["auto"]) -> Iterator[int]:
    """Recompute activations inside the ``with`` block only, and yield the number of segments.

    Args:
        module: Any module.
        every: Blocks per segment; 0 changes nothing, ``"auto"`` is what ``choose_every`` returns.
    """
    every = choose_every(module) if every == "auto" else every
    if not every:
        yield 0
        return
    segments = recompute_activations(module, every)
    try:
        yield segments
    finally:
        keep_activations(module)


def _chains(module: nn.Module) -> dict[nn.Module, int]:
    """Return the chains of a module and their numbers of blocks; of chains inside one another only the longest."""
    inside: dict[nn.Module, int] = {}
    for child in module.children():
        inside |= _chains(child)
    blocks = len(_blocks(module)[1]) if _is_sequential(module) else getattr(module, "num_blocks", 0)
    is_chain = _is_sequential(module) or hasattr(module, "recompute_every")
    return {module: blocks} if is_chain and blocks >= max(inside.values(), default=1) else inside


def _is_sequential(module: nn.Module) -> bool:
    """Whether a module runs its children one after another as torch does it; a subclass may do otherwise."""
    return type(module).forward is nn.Sequential.forward


def _blocks(chain: nn.Module) -> tuple[list[nn.Module], list[list[nn.Module]]]:
    """Return the children before the first block, and the blocks.

    A block begins with a child that has a weight matrix: such a child does not overwrite its input, as activations do,
    and the input of a segment is needed again.
    """
    before: list[nn.Module] = []
    blocks: list[list[nn.Module]] = []
    for child in chain.children():
        if any(parameter.ndim > 1 for parameter in child.parameters()):
            blocks.append([])
        (blocks[-1] if blocks else before).append(child)
    return before, blocks


def _forward_in_segments(chain: nn.Module, state: Any) -> Any:
    """Do what ``nn.Sequential.forward`` does."""
    before, blocks = _blocks(chain)
    every = int(chain.recompute_every) if chain.training else 0  # type: ignore[arg-type]
    return run_in_segments(chain, [partial(_pass, block) for block in blocks], every, _pass(before, state))


def _pass(children: list[nn.Module], state: Any) -> Any:
    for child in children:
        state = child(state)
    return state


def _nothing_to_do(module: nn.Module, every: int, longest: int) -> str:
    text = f"the activations of {type(module).__name__} cannot be recomputed every {every} blocks: "
    text += f"its longest chain has {longest}." if longest else "it has no chain of blocks, such as nn.Sequential."
    if any(isinstance(part, nn.RNNBase) for part in module.modules()):
        text += " The layers of nn.LSTM, nn.GRU and nn.RNN are one operation and cannot be cut."
    return text
