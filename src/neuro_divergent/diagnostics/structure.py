"""Structure of a network: its blocks, their input and output shapes, and their parameters."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch
from neuro_divergent.diagnostics.sample import take
from neuro_divergent.diagnostics.undisturbed import undisturbed

ROOT = "(network)"
"""Name of the network itself, whose module name is empty."""

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
_Shape = tuple[int, ...]


class _Block(NamedTuple):
    name: str
    depth: int
    module: nn.Module


def describe_network(module: nn.Module, batch: Batch) -> list[dict[str, Any]]:
    """Return the blocks of a network in the order in which it holds them, each before its parts.

    Containers are replaced by their contents; a block that is used several times is listed once. One or two windows are
    passed through the network, which does not change.

    Returns:
        For each block ``name``, ``kind`` (its class), ``depth`` (0 is the network itself), ``inputs`` and ``outputs``
        (shape of the first tensor that goes in and out, with ``None`` for what depends on the number of windows; they
        are ``None`` if the block itself is not called), ``own`` (parameters of the block itself) and
        ``parameters`` (with those of its parts).
    """
    blocks = _blocks(module, set(), "", 0)
    one = _shapes(module, blocks, take(batch, slice(0, 1)))
    # A pass with two windows shows which sizes depend on the number of windows.
    two = _shapes(module, blocks, take(batch, slice(0, 2))) if len(batch.past_y) > 1 else one
    return [
        {
            "name": block.name or ROOT,
            "kind": type(block.module).__name__.lstrip("_"),
            "depth": block.depth,
            "inputs": _compare(one, two, place, 0),
            "outputs": _compare(one, two, place, 1),
            "own": _own(block.module),
            "parameters": sum(parameter.numel() for parameter in block.module.parameters()),
        }
        for place, block in enumerate(blocks)
    ]


def _blocks(module: nn.Module, seen: set[int], name: str, depth: int) -> list[_Block]:
    """Return a block and the blocks in it; ``seen`` holds the ids of listed modules."""
    if id(module) in seen:
        return []
    seen.add(id(module))
    folded = isinstance(module, _CONTAINERS) and depth > 0
    found = [] if folded else [_Block(name, depth, module)]
    for key, part in module.named_children():
        found += _blocks(part, seen, f"{name}.{key}" if name else key, depth if folded else depth + 1)
    return found


def _own(module: nn.Module) -> int:
    """Count the parameters that a block holds directly or in containers, such as a parameter list."""
    held = sum(parameter.numel() for parameter in module.parameters(recurse=False))
    return held + sum(_own(part) for part in module.children() if isinstance(part, _CONTAINERS))


def _shapes(module: nn.Module, blocks: list[_Block], batch: Batch) -> dict[int, tuple[_Shape | None, _Shape | None]]:
    """Return the input and output shape of each block at its first call, by its index."""
    found: dict[int, tuple[_Shape | None, _Shape | None]] = {}

    def watch(place: int) -> Any:
        def hook(part: nn.Module, args: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
            del part
            found.setdefault(place, (_shape((args, options)), _shape(output)))

        return hook

    with ExitStack() as stack:
        for place, block in enumerate(blocks):
            handle = block.module.register_forward_hook(watch(place), with_kwargs=True)
            stack.callback(handle.remove)
        stack.enter_context(undisturbed(module))
        # With gradients, blocks do not use their fused weights for inference.
        stack.enter_context(torch.enable_grad())
        module(batch._replace(future_y=None))
    return found


def _shape(value: Any) -> _Shape | None:
    """Return the shape of the first tensor in nested tuples and the like."""
    if isinstance(value, Tensor):
        return tuple(value.shape)
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return next((found for item in values if (found := _shape(item)) is not None), None)


def _compare(one: dict[int, Any], two: dict[int, Any], place: int, side: int) -> list[int | None] | None:
    """Return a shape with ``None`` where the number of windows changes it."""
    first, second = (shapes.get(place, (None, None))[side] for shapes in (one, two))
    if first is None or second is None or len(first) != len(second):
        return None if first is None else list(first)
    return [size if size == other else None for size, other in zip(first, second, strict=True)]
