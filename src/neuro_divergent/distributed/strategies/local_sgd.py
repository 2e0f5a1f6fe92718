"""Local SGD: processes train by themselves and average their weights now and then."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.launched import launched
from neuro_divergent.distributed.strategies.data_parallel import (
    DataParallel,
    DataParallelStrategy,
    with_shared_statistics,
)
from neuro_divergent.training.strategy import State, Strategy

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.distributed import ProcessGroup as TorchGroup

    from neuro_divergent.distributed.group import ProcessGroup
    from neuro_divergent.training.config import TrainingConfig

Count = Annotated[int, Field(ge=1)]


@register("local_sgd")
class LocalSGD(DataParallel):
    """Processes make steps by themselves and average their weights every few steps, for slow links (Stich, 2019).

    Each takes its rows of every batch, with the mean over those rows alone. Weights are averaged every ``every`` steps,
    and always before a validation, a checkpoint and the end of training, so that what is validated and saved is the
    average. With ``start``, plain data parallel comes first (post-local SGD, Lin et al., 2020). Flags of one byte are
    still exchanged at every step, so that all processes stop at the same one. ``static_graph``, ``bucket_view`` and
    ``compression`` are those of the first ``start`` steps.

    It is our own and not torch's ``PeriodicModelAverager``: that one averages at fixed steps only, not when somebody
    wants to see the weights, and leaves out the moments. Here it is one ``all_reduce`` of all weights end to end.

    Attributes:
        every: Steps between two averagings over all processes.
        start: Steps of data parallel before that.
        moments: Whether the optimizer's moments are averaged as well, which makes each averaging as many times larger.
            Without it, each process has its own, and a checkpoint holds their mean.
        groups: Processes per group that averages more often, one after another by their numbers; ``"machine"`` for
            those of a machine, between which links are fast. Unset, there are no groups.
        group_every: Steps between two averagings within a group; ``every`` is a multiple of it.

    Examples:
        Eight processes average in pairs every 4 steps, and all together every 16:

        >>> import neuro_divergent as nd
        >>> strategy = nd.distributed.LocalSGD(every=16, groups=2, group_every=4)
        >>> strategy.group_size(world_size=8)
        2
    """

    every: Count = 8
    start: int = Field(default=0, ge=0)
    moments: bool = False
    groups: Count | Literal["machine"] | None = None
    group_every: Count | None = None

    @model_validator(mode="after")
    def _groups_fit(self) -> LocalSGD:
        if (self.groups is None) != (self.group_every is None):
            raise ValueError("local_sgd: groups and group_every belong together; give both or none")
        if self.group_every is not None and (self.every % self.group_every or self.every == self.group_every):
            raise ValueError(
                f"local_sgd: every={self.every} must be a multiple of group_every={self.group_every}, at least twice it"
            )
        return self

    def check(self, training: TrainingConfig) -> None:
        optimizer = training.optimizer
        refusals = {
            "average: it would follow the steps of one process, not of all. Leave it out": training.average is not None,
            'precision="fp16" scales gradients by overflows, which each process would see by itself. Choose bf16': (
                training.precision == "fp16"
            ),
            f"{optimizer.name} keeps averages in its state, which must be averaged as well. Pass moments=True": (
                optimizer.averages and not self.moments
            ),
        }
        for reason, is_so in refusals.items():
            if is_so:
                raise ValueError(f"strategy: local_sgd: {reason}")

    def join(self, device: torch.device) -> Strategy:
        from neuro_divergent.distributed.group import join_group

        return LocalStrategy(self, join_group(device, self.timeout))

    def group_size(self, world_size: int) -> int:
        """Return the processes per group; 1 where there are none.

        Raises:
            ConfigError: If processes cannot be divided into groups of that size.
        """
        if self.groups is None:
            return 1
        place = launched()
        size = (1 if place is None else place.local_world_size) if self.groups == "machine" else self.groups
        if world_size % size or size in (1, world_size):
            raise ConfigError(
                f"strategy: local_sgd: groups={self.groups!r} makes groups of {size}; {world_size} processes cannot "
                "be divided into several with at least two in each. Choose another number, or leave groups out."
            )
        return size


class LocalStrategy(DataParallelStrategy):
    """Shares a training for a ``LocalSGD``."""

    config: LocalSGD

    def __init__(self, config: LocalSGD, group: ProcessGroup) -> None:
        super().__init__(config, group)
        self._size = config.group_size(group.world_size)
        self._near: TorchGroup | None = None
        self._optimizer: torch.optim.Optimizer | None = None
        self._is_settled = True

    def shares_step(self, step: int) -> bool:
        return step <= self.config.start

    def prepare(self, module: nn.Module, trained: Collection[str] | None = None) -> nn.Module:
        import torch.distributed as dist

        from neuro_divergent.distributed.exchange import broadcast_weights

        if self._size > 1 and self._near is None:
            for first in range(0, self.world_size, self._size):  # every process takes part in making every group
                members = range(first, first + self._size)
                made = dist.new_group(list(members))
                self._near = made if self.rank in members else self._near
        self._is_settled = True
        if self.config.start:
            return super().prepare(module, trained)
        module = with_shared_statistics(module)
        broadcast_weights(module)
        return module

    def prepare_optimizer(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        self._optimizer = optimizer
        return optimizer

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        return super().no_sync(module) if self.config.start else nullcontext()

    def stepped(self, step: int) -> None:
        done = step - self.config.start
        if done <= 0:
            return
        self._is_settled = False
        if done % self.config.every == 0:
            self.settle()
        elif self.config.group_every is not None and done % self.config.group_every == 0:
            self._average(self._size, self._near)

    def settle(self) -> None:
        if not self._is_settled:
            self._average(self.world_size, None)
            self._is_settled = True

    def full_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, others: State
    ) -> tuple[State, State, State]:
        from neuro_divergent.distributed.exchange import average
        from neuro_divergent.training.checkpointing.snapshot import snapshot, tensors_of

        state = snapshot(optimizer.state_dict())
        if not self.config.moments:
            average((tensor for _, tensor in tensors_of(state)), self.world_size)
        return module.state_dict(), state, others

    def load_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, states: tuple[State, State, State]
    ) -> State:
        self._is_settled = True
        return super().load_state(module, optimizer, states)

    def _average(self, size: int, group: TorchGroup | None) -> None:
        """Average the weights, and the moments if that is wanted, over some processes."""
        from neuro_divergent.distributed.exchange import average
        from neuro_divergent.training.checkpointing.snapshot import tensors_of

        assert self._optimizer is not None
        weights = [parameter for item in self._optimizer.param_groups for parameter in item["params"]]
        moments = [tensor for _, tensor in tensors_of(self._optimizer.state_dict())] if self.config.moments else []
        with self.waiting:
            average([*weights, *moments], size, group)
