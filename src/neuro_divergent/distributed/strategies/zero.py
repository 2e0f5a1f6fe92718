"""ZeRO-1: data parallel with the state of the optimizer dealt out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import register
from neuro_divergent.distributed.strategies.data_parallel import DataParallel, DataParallelStrategy
from neuro_divergent.training.strategy import State, Strategy

if TYPE_CHECKING:
    import torch
    from torch import nn

    from neuro_divergent.training.config import TrainingConfig


@register("zero")
class ZeRO(DataParallel):
    """Data parallel in which each process keeps the optimizer's state of a part of the weights (ZeRO-1).

    Every process has all weights and gradients. A parameter belongs to one process, which changes it and tells the
    others (Rajbhandari et al., 2020, stage 1). With N processes each holds about 1/N of the state, which is twice the
    size of the weights for AdamW; a parameter is never divided, so one that is larger than all others together stays
    with its state in one process. A step takes the time of data parallel and that of sending all weights once.

    It is our own and not torch's ``ZeroRedundancyOptimizer``: that one makes an optimizer out of a class and its
    arguments, so it cannot hold several that are joined or wrapped, and gathers its state by pickling.

    Examples:
        An optimizer that needs all weights at once is refused before anything starts:

        >>> import neuro_divergent as nd
        >>> try:
        ...     nd.TrainingConfig(strategy=nd.distributed.ZeRO(), optimizer="prodigy")
        ... except nd.errors.ConfigError as error:
        ...     print(str(error).partition(",")[0])
        strategy: zero: prodigy computes one number from all weights
    """

    def check(self, training: TrainingConfig) -> None:
        optimizer = training.optimizer
        if optimizer.scope == "network":
            raise ValueError(
                f"strategy: zero: {optimizer.name} computes one number from all weights, and each process has the "
                "state of some. Choose another optimizer, such as adamw, or strategy=data_parallel"
            )

    def join(self, device: torch.device) -> Strategy:
        from neuro_divergent.distributed.group import join_group

        return ZeroStrategy(self, join_group(device, self.timeout))


class ZeroStrategy(DataParallelStrategy):
    """Shares a training for a ``ZeRO``."""

    def prepare_optimizer(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        from neuro_divergent.distributed.ownership import Ownership
        from neuro_divergent.distributed.part_optimizer import PartOptimizer

        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        ownership = Ownership(parameters, self.rank, self.world_size)
        return PartOptimizer(optimizer, {item: item for item in ownership.own}, self.waiting(ownership.exchange))

    def full_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, others: State
    ) -> tuple[State, State, State]:
        from neuro_divergent.distributed.ownership import merge
        from neuro_divergent.distributed.part_optimizer import PartOptimizer

        assert isinstance(optimizer, PartOptimizer)
        own = optimizer.state_in_place()
        with self.waiting:
            states = self._group.gather_to_main(own)
        return module.state_dict(), own if states is None else merge(states), others

    def load_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, states: tuple[State, State, State]
    ) -> State:
        from neuro_divergent.distributed.part_optimizer import PartOptimizer

        assert isinstance(optimizer, PartOptimizer)
        module.load_state_dict(states[0])
        optimizer.load_whole(states[1])
        return states[2]
