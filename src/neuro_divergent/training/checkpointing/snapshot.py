"""A copy of a state that training does not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor


def snapshot(value: Any) -> Any:
    """Return a copy of a state: all tensors and containers in it are new, on the devices they are on."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {key: snapshot(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(snapshot(item) for item in value)
    return value


def tensors_of(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a state with the path to each."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, (Mapping, list, tuple)):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from tensors_of(item, f"{path}.{key}" if path else str(key))
