"""How one training is shared among processes.

The engine talks to a strategy and never asks which one it has. The default is one process with one device.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from neuro_divergent.data.loader import Loader

Sum = TypeVar("Sum", "Tensor", float, "Tensor | float")
Weight = TypeVar("Weight", "Tensor", float, "Tensor | float")
Value = TypeVar("Value")


class Strategy(Protocol):
    """What the engine needs of a group of processes. All of them make the same calls in the same order."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0; process 0 writes files and prints."""

    @property
    def world_size(self) -> int:
        """Number of processes."""

    def shard(self, loader: Loader) -> Loader:
        """Return the part of a loader that is for this process; all parts have the same number of batches."""

    def prepare(self, module: nn.Module) -> nn.Module:
        """Return the module to call in training, which may wrap the one given.

        Weights become those of process 0. A backward pass *adds up* gradients over processes, without dividing.
        """

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        """Keep gradients of a prepared module to this process inside the block."""

    def all_reduce(self, total: Sum, weight: Weight) -> tuple[Sum, Weight]:
        """Return a weighted sum and the sum of its weights, each added up over processes."""

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in at least one process."""

    def broadcast(self, value: Value) -> Value:
        """Return the value of process 0: numbers, text and tensors, in dicts, lists and tuples."""

    def full_state(self, module: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the states of module and optimizer with all that processes hold of them, for a checkpoint."""


class SingleDevice(Strategy):
    """One process, one device."""

    rank = 0
    world_size = 1

    def shard(self, loader: Loader) -> Loader:
        return loader

    def prepare(self, module: nn.Module) -> nn.Module:
        return module

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        return nullcontext()

    def all_reduce(self, total: Sum, weight: Weight) -> tuple[Sum, Weight]:
        return total, weight

    def any(self, flag: bool) -> bool:
        return flag

    def broadcast(self, value: Value) -> Value:
        return value

    def full_state(self, module: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], dict[str, Any]]:
        return module.state_dict(), optimizer.state_dict()
