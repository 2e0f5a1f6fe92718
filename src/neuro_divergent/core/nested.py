"""Tensors in dicts, lists and tuples, as the inputs of a module may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor


def map_tensors(function: Callable[[Tensor], Any], item: Any) -> Any:
    """Return the same structure with a function applied to each tensor; what is no tensor stays as it is."""
    if isinstance(item, Tensor):
        return function(item)
    if isinstance(item, Mapping):
        return {name: map_tensors(function, value) for name, value in item.items()}
    if isinstance(item, (list, tuple)):
        parts = (map_tensors(function, value) for value in item)
        return type(item)(*parts) if hasattr(item, "_fields") else type(item)(parts)
    return item


def tensors_in(item: Any) -> Iterator[Tensor]:
    """Yield each tensor of a structure."""
    if isinstance(item, Tensor):
        yield item
    elif isinstance(item, (Mapping, list, tuple)):
        for value in item.values() if isinstance(item, Mapping) else item:
            yield from tensors_in(value)


def num_rows(inputs: Any) -> int:
    """Return the rows of the inputs of a batch: those of the first tensor in them."""
    if isinstance(inputs, Tensor):
        return len(inputs)
    return next((len(tensor) for tensor in tensors_in(inputs)), 0)
