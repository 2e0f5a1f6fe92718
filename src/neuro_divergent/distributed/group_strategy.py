"""What all strategies have in common that a group of processes shares."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from neuro_divergent.core.call_counter import CallCounter
from neuro_divergent.distributed.waiting import Waiting
from neuro_divergent.training.strategy import Strategy, Sum, Value, Weight

if TYPE_CHECKING:
    from torch import nn

    from neuro_divergent.data.loader import Loader
    from neuro_divergent.distributed.group import ProcessGroup


class GroupStrategy(Strategy):
    """Deals out the rows of each batch, and lets the group carry what processes say to each other.

    Attributes:
        waiting: Counts exchanges and measures the time spent in them; each of them is made inside it.
    """

    def __init__(self, group: ProcessGroup) -> None:
        self._group = group
        self.waiting = Waiting(CallCounter.told(group.rank))

    @property
    def rank(self) -> int:
        return self._group.rank

    @property
    def world_size(self) -> int:
        return self._group.world_size

    @property
    def waited(self) -> float:
        return self.waiting.seconds

    def shard(self, loader: Loader, seed: int) -> Loader:
        from neuro_divergent.distributed.shard import shard

        return shard(loader, self.rank, self.world_size, seed)

    def all_reduce(self, total: Sum, weight: Weight) -> tuple[Sum, Weight]:
        with self.waiting:
            return self._group.all_reduce(total, weight)

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        with self.waiting:
            return self._group.any_of(*flags)

    def broadcast(self, value: Value) -> Value:
        with self.waiting:
            return self._group.broadcast(value)

    def gather(self, value: Value) -> list[Value]:
        with self.waiting:
            return self._group.gather(value)

    def explaining(self) -> AbstractContextManager[None]:
        from neuro_divergent.distributed.group import explaining_loss

        return explaining_loss()

    def stepped(self, step: int) -> None:
        pass

    def settle(self) -> None:
        pass

    def release(self, module: nn.Module) -> None:
        pass
