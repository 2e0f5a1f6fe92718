"""How one step is shared among processes.

The engine talks to a strategy and never asks which one it has. The default is one process with one device.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn


class Strategy(Protocol):
    """What the engine asks of a group of processes."""

    @property
    def is_main(self) -> bool:
        """Whether this process is the one that writes and prints."""

    def prepare(self, module: nn.Module) -> nn.Module:
        """Return the module to call in training, which may wrap the one given."""

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        """Keep gradients of a prepared module local inside the block."""

    def reduce_mean(self, value: Tensor) -> Tensor:
        """Average a value over all processes."""

    def barrier(self) -> None:
        """Wait until every process is here."""


class SingleDevice:
    """One process, one device."""

    is_main = True

    def prepare(self, module: nn.Module) -> nn.Module:
        """Return the module itself."""
        return module

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        """Do nothing: there is nobody to talk to."""
        del module
        return nullcontext()

    def reduce_mean(self, value: Tensor) -> Tensor:
        """Return the value itself."""
        return value

    def barrier(self) -> None:
        """Do nothing."""
