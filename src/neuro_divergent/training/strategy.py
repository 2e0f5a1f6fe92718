"""How one training is shared among processes.

The engine talks to a strategy and never asks which one it has. The default is one process with one device.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.launched import launched
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from neuro_divergent.data.loader import Loader
    from neuro_divergent.training.config import TrainingConfig

Sum = TypeVar("Sum", "Tensor", float, "Tensor | float")
Weight = TypeVar("Weight", "Tensor", float, "Tensor | float")
Value = TypeVar("Value")
State: TypeAlias = dict[str, Any]


class Strategy(Protocol):
    """What the engine needs of a group of processes. All of them make the same calls in the same order.

    Methods that have a default here are for strategies that deal out more than the rows of a batch.
    """

    @property
    def rank(self) -> int:
        """Number of this process, from 0; process 0 writes files and prints."""

    @property
    def world_size(self) -> int:
        """Number of processes."""

    @property
    def waited(self) -> float:
        """Seconds that this process has spent in exchanges with others so far, waiting for them or sending."""
        return 0.0

    def shares_step(self, step: int) -> bool:
        """Whether a step, counted from 1, is one of all processes; else each makes it by itself, with its own rows."""
        return True

    def place(self, module: nn.Module, device: torch.device) -> None:
        """Bring a module to the device it is trained on, unless ``prepare`` does that."""
        module.to(device)

    def shard(self, loader: Loader, seed: int) -> Loader:
        """Return the part of a loader that is for this process; all parts have the same number of batches.

        The seed decides the order of loaders that draw it from torch's generator.
        """

    def prepare(self, module: nn.Module, trained: Collection[str] | None = None) -> nn.Module:
        """Return the module to call in training, which may wrap the one given.

        Weights become those of process 0. A backward pass *adds up* gradients over processes, without dividing.

        Args:
            module: The network.
            trained: Names of the parameters that are trained at some time, where that changes on the way; unset, those
                that require gradients now.
        """

    def prepare_optimizer(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """Return the optimizer to step, for the one of a prepared module; its groups have the same parameters."""
        return optimizer

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        """Keep gradients of a prepared module to this process inside the block."""

    def stepped(self, step: int) -> None:
        """Do what is due after a step, counted from 1."""

    def settle(self) -> None:
        """Give all processes the same weights, before those are validated or saved, if steps were not shared."""

    def release(self, module: nn.Module) -> None:
        """Undo ``prepare`` after training: the module is whole again, in all processes."""

    def all_reduce(self, total: Sum, weight: Weight) -> tuple[Sum, Weight]:
        """Return a weighted sum and the sum of its weights, each added up over processes."""

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        """Return for each flag whether it is set in at least one process."""

    def broadcast(self, value: Value) -> Value:
        """Return the value of process 0: numbers, text and tensors, in dicts, lists and tuples."""

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, in their order; of the kinds that ``broadcast`` takes."""

    def explaining(self) -> AbstractContextManager[None]:
        """Turn errors about the connection between processes into ``ProcessLostError`` inside the block."""

    def full_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, others: State
    ) -> tuple[State, State, State]:
        """Return the states of module, optimizer and others with all that processes hold of them, for a checkpoint.

        They are complete in process 0; those of other processes may have less in them.

        Args:
            module: The network, prepared.
            optimizer: What ``prepare_optimizer`` returned.
            others: States of other parts of training, which may hold copies of the weights.
        """
        return module.state_dict(), optimizer.state_dict(), others

    def load_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, states: tuple[State, State, State]
    ) -> State:
        """Restore what ``full_state`` returned, in a group of any size, and return the states of the others.

        Copies of the weights in those are then of the kind that ``module.state_dict()`` returns.

        Raises:
            RuntimeError: If the weights are those of another network.
        """
        module.load_state_dict(states[0])
        optimizer.load_state_dict(states[1])
        return states[2]


class SingleDevice(Strategy):
    """One process, one device."""

    rank = 0
    world_size = 1

    def shard(self, loader: Loader, seed: int) -> Loader:
        return loader

    def prepare(self, module: nn.Module, trained: Collection[str] | None = None) -> nn.Module:
        return module

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        return nullcontext()

    def all_reduce(self, total: Sum, weight: Weight) -> tuple[Sum, Weight]:
        return total, weight

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        return flags

    def broadcast(self, value: Value) -> Value:
        return value

    def gather(self, value: Value) -> list[Value]:
        return [value]

    def explaining(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stepped(self, step: int) -> None:
        pass

    def settle(self) -> None:
        pass

    def release(self, module: nn.Module) -> None:
        pass


class StrategyConfig(Component):
    """Settings of how processes share a training, for those that a launcher started together."""

    registry: ClassVar[Registry] = Registry("strategy", "neuro_divergent.distributed.strategies")
    is_shared: ClassVar[bool] = True  # whether processes train one thing together

    def check(self, training: TrainingConfig) -> None:
        """Refuse settings of a training that cannot be shared this way; called when they are made.

        Raises:
            ValueError: If there is one; the text names it.
        """

    @abstractmethod
    def join(self, device: torch.device) -> Strategy:
        """Join the group of processes that train on devices of this kind, unless this one did, and return it."""


def is_main_process(config: StrategyConfig | None) -> bool:
    """Whether this process writes files and prints: the only one of a training, or number 0; loads no torch."""
    place = launched()
    return place is None or place.rank == 0 or not is_shared(config)


def is_shared(config: StrategyConfig | None) -> bool:
    """Whether processes that a launcher started together train one thing."""
    return config is None or config.is_shared


def find_strategy(config: StrategyConfig | None, device: torch.device) -> Strategy:
    """Return how training is shared: by the processes that a launcher started, or not at all where there is one.

    Args:
        config: Settings; unset, data parallel.
        device: Where this process computes.
    """
    if launched() is None:
        return SingleDevice()
    if config is None:
        config = StrategyConfig.from_dict("data_parallel")
    return config.join(device)
