"""The matrix products of a network, without the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from timing import call_seconds

NAMES = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
Matrix = tuple[tuple[int, ...], bool]  # shape, and whether it is transposed in memory


class _Recorder(TorchDispatchMode):
    """Notes all matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[tuple[Matrix, Matrix]] = []

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        """Note the two matrices of a product, and compute it."""
        if function.name().split(".")[0] in NAMES:
            first, second = [item for item in arguments if isinstance(item, Tensor)][-2:]
            self.products.append((_describe(first), _describe(second)))
        return function(*arguments, **(named or {}))


def record(work: Callable[[], object]) -> list[tuple[Matrix, Matrix]]:
    """Return the matrices that are multiplied in some work."""
    with _Recorder() as recorder:
        work()
    return recorder.products


def replay_seconds(products: list[tuple[Matrix, Matrix]], calls: int = 15) -> float:
    """Return the time of products alone, into memory that is there already."""
    pairs = [(_make(first), _make(second)) for first, second in products]
    results = [first @ second for first, second in pairs]

    def replay() -> None:
        for (first, second), result in zip(pairs, results, strict=True):
            torch.matmul(first, second, out=result)

    with torch.inference_mode():
        return call_seconds(replay, calls)


def _describe(matrix: Tensor) -> Matrix:
    return tuple(matrix.shape), matrix.stride(-1) > matrix.stride(-2)


def _make(matrix: Matrix) -> Tensor:
    shape, transposed = matrix
    if not transposed:
        return torch.randn(shape)
    return torch.randn((*shape[:-2], shape[-1], shape[-2])).transpose(-1, -2)
