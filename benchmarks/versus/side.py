"""A process for each library."""

from __future__ import annotations

import importlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Literal


class Side:
    """Runs one library in a process of its own, so that nothing it does to its process helps or hinders the other.

    Calling it with the name of a function of ``ours`` or ``theirs`` in the package runs that function there.
    """

    def __init__(self, name: Literal["ours", "theirs"], threads: int, package: str = "versus") -> None:
        self._module = f"{package}.{name}"
        self._pool = ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn"), initializer=_begin, initargs=(threads,)
        )

    def __call__(self, function: str, *arguments: Any) -> Any:
        """Run a function there and return what it returned."""
        return self._pool.submit(_call, self._module, function, arguments).result()

    def close(self) -> None:
        """End the process."""
        self._pool.shutdown()


def _begin(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _call(module: str, function: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(importlib.import_module(module), function)(*arguments)
