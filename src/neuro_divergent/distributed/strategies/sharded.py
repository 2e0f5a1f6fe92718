"""FSDP2: weights, gradients and the state of the optimizer are dealt out."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.distributed.group_strategy import GroupStrategy
from neuro_divergent.distributed.strategies.data_parallel import with_shared_statistics
from neuro_divergent.training.strategy import State, Strategy, StrategyConfig

if TYPE_CHECKING:
    import torch
    from torch import nn

    from neuro_divergent.distributed.group import ProcessGroup
    from neuro_divergent.distributed.sharded_network import ShardedNetwork
    from neuro_divergent.training.config import TrainingConfig


@register("sharded")
class Sharded(StrategyConfig):
    """PyTorch's ``fully_shard`` (FSDP2), for networks that are too large for one device.

    Each process holds a part of every weight, of its gradient and of the optimizer's state. A block of the network is
    gathered just before it computes, and dropped after. Gradients are those of one process with the whole batch.

    Attributes:
        min_block: Weights that an entry of an ``nn.ModuleList`` or ``nn.Sequential`` has at least, to be gathered by
            itself; all others are gathered together, for the whole of a forward pass. A network that uses weights of
            such an entry without calling it needs a larger number.
        timeout: Seconds to wait for other processes before training ends with an error.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(strategy=nd.distributed.Sharded(min_block=100_000), precision="bf16")
        >>> config.to_dict()["strategy"]
        {'name': 'sharded', 'min_block': 100000, 'timeout': 600.0}
    """

    min_block: int = Field(default=1_000_000, ge=1)
    timeout: float = Field(default=600.0, gt=0)

    def check(self, training: TrainingConfig) -> None:
        optimizer = training.optimizer
        refusals = {
            f"{optimizer.name} needs whole tensors, and each process has parts of them. Choose another optimizer, such "
            "as adamw, or strategy=zero": optimizer.scope != "entry",
            "compile=True does not work with weights that come and go. Leave it out, or choose strategy=zero": (
                training.compile
            ),
            'precision="fp16" scales gradients, and each process would see overflows of its own part. Choose bf16': (
                training.precision == "fp16"
            ),
            f"gradient={training.gradient.name!r} changes single weights, and each process has some. Leave it out": (
                training.gradient.name != "autodiff"
            ),
            "gradient_sum='float64' adds up whole gradients. Leave it out": training.gradient_sum != "float32",
            "freeze: 'until' is not possible, because a part is dealt out as frozen or not for good. Leave it out": any(
                freeze.until is not None for freeze in training.freeze
            ),
        }
        for reason, is_so in refusals.items():
            if is_so:
                raise ValueError(f"strategy: sharded: {reason}")

    def join(self, device: torch.device) -> Strategy:
        from neuro_divergent.distributed.group import join_group

        return ShardedStrategy(self, join_group(device, self.timeout), device)


class ShardedStrategy(GroupStrategy):
    """Shares a training for a ``Sharded``."""

    def __init__(self, config: Sharded, group: ProcessGroup, device: torch.device) -> None:
        super().__init__(group)
        self.config = config
        self._device = device
        self._network: ShardedNetwork | None = None

    def place(self, module: nn.Module, device: torch.device) -> None:
        """Leave a module where it is: it goes to the device block by block when it is dealt out."""

    def prepare(self, module: nn.Module, trained: Collection[str] | None = None) -> nn.Module:
        from neuro_divergent.distributed.exchange import broadcast_weights
        from neuro_divergent.distributed.sharded_network import ShardedNetwork

        module = with_shared_statistics(module)
        broadcast_weights(module)
        self._network = ShardedNetwork(module, self._device, self.config.min_block, self.waiting)
        return module

    def prepare_optimizer(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        from torch import nn

        from neuro_divergent.distributed.part_optimizer import PartOptimizer
        from neuro_divergent.training.parted import own_part

        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        parts = {item: nn.Parameter(own_part(item.detach()), item.requires_grad) for item in parameters}
        return PartOptimizer(optimizer, parts)

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        """Do nothing: gradients of several batches are added up in parts, since whole ones may not fit a device."""
        return nullcontext()

    def release(self, module: nn.Module) -> None:
        if self._network is not None:
            self._network.restore()
            self._network = None

    def full_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, others: State
    ) -> tuple[State, State, State]:
        from neuro_divergent.distributed.part_optimizer import PartOptimizer
        from neuro_divergent.distributed.sharded_network import put_all_together

        assert isinstance(optimizer, PartOptimizer)
        assert self._network is not None
        states = put_all_together(module.state_dict()), optimizer.state_in_place(self._network.whole_of)
        return *states, put_all_together(others)

    def load_state(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, states: tuple[State, State, State]
    ) -> State:
        from neuro_divergent.distributed.part_optimizer import PartOptimizer

        assert isinstance(optimizer, PartOptimizer)
        assert self._network is not None
        module.load_state_dict(self._network.dealt_out(states[0]))
        optimizer.load_whole(states[1], self._network.part_of)
        others: State = self._network.copies_dealt_out(states[2])
        return others
