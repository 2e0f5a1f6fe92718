"""A limit on the size of tensors that are made while a network is built."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_SQUARES = {torch.eye, torch.diag, torch.diag_embed, torch.diagflat}  # as many rows as columns
_SQUARES |= {Tensor.diag, Tensor.diag_embed, Tensor.diagflat}


class SizeLimitError(Exception):
    """A tensor may be larger than the limit."""


class SizeLimit(TorchFunctionMode):
    """Raises ``SizeLimitError`` inside the block before a function of torch makes a tensor of more numbers.

    The size is estimated from the arguments: the product of all sizes and numbers among them, which is often too high.
    """

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self._numbers = numbers

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        size = math.prod(map(_size, (*args, *kwargs.values())))
        if size ** (2 if func in _SQUARES else 1) > self._numbers:
            raise SizeLimitError
        return func(*args, **kwargs)


def _size(argument: Any) -> float:
    """Return by how much an argument can multiply the size of a result."""
    if isinstance(argument, Tensor):
        return max(argument.numel(), 1)
    if isinstance(argument, (tuple, list)):
        if any(isinstance(item, Tensor) for item in argument):  # which are joined
            return sum(map(_size, argument))
        return math.prod(map(_size, argument))
    if isinstance(argument, (int, float)) and math.isfinite(argument):
        return max(abs(argument), 1)
    return 1
