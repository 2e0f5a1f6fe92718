"""Data parallel: every process has all weights, works on a part of each batch, and gradients are added up."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.distributed.group_strategy import GroupStrategy
from neuro_divergent.training.strategy import Strategy, StrategyConfig

if TYPE_CHECKING:
    import torch
    from torch import nn

    from neuro_divergent.distributed.group import ProcessGroup


@register("data_parallel")
class DataParallel(StrategyConfig):
    """PyTorch's ``DistributedDataParallel``, with gradients that are those of one process with the whole batch.

    Attributes:
        static_graph: Whether every step uses the same weights, which lets PyTorch plan the exchange once.
        bucket_view: Whether gradients lie in the buffers that are exchanged, which saves a copy of them.
        compression: Type in which gradients travel; ``fp16`` halves the bytes and rounds, for slow links.
        timeout: Seconds to wait for other processes before training ends with an error.

    Examples:
        ``nd train --processes 2`` and ``torchrun`` start the processes; in a single one the strategy has no effect:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> config = nd.TrainingConfig(max_steps=1, strategy=nd.distributed.DataParallel(compression="fp16"))
        >>> trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config)
        >>> trainer.strategy.rank, trainer.strategy.world_size
        (0, 1)
    """

    static_graph: bool = False
    bucket_view: bool = True
    compression: Literal["none", "fp16"] = "none"
    timeout: float = Field(default=600.0, gt=0)

    def join(self, device: torch.device) -> Strategy:
        from neuro_divergent.distributed.group import join_group

        return DataParallelStrategy(self, join_group(device, self.timeout))


class DataParallelStrategy(GroupStrategy):
    """Shares a training for a ``DataParallel``."""

    def __init__(self, config: DataParallel, group: ProcessGroup) -> None:
        super().__init__(group)
        self.config = config

    def prepare(self, module: nn.Module, trained: Collection[str] | None = None) -> nn.Module:
        from torch import nn

        from neuro_divergent.distributed.gradient_sum import add_up, add_up_in_half

        later = [module.get_parameter(name) for name in trained or ()]
        later = [parameter for parameter in later if not parameter.requires_grad]
        for parameter in later:  # those that are frozen now would be left out for good
            parameter.requires_grad_(True)
        made = nn.parallel.DistributedDataParallel(
            with_shared_statistics(module),
            forward_sync_buffers=False,
            gradient_as_bucket_view=self.config.bucket_view,
            static_graph=self.config.static_graph and not later,
            find_unused_parameters=bool(later),
        )
        for parameter in later:
            parameter.requires_grad_(False)
        made.register_comm_hook(self.waiting, add_up if self.config.compression == "none" else add_up_in_half)
        return made

    def no_sync(self, module: nn.Module) -> AbstractContextManager[None]:
        return module.no_sync()  # type: ignore[operator, no-any-return]


def with_shared_statistics(module: nn.Module) -> nn.Module:
    """Return a module whose batch normalisations use the statistics of the whole batch, over all processes.

    Raises:
        ConfigError: If there are some on the CPU, where PyTorch cannot share them.
    """
    from torch import nn

    found = [name for name, part in module.named_modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    if not found:
        return module
    if next(module.parameters()).device.type == "cpu":
        raise ConfigError(
            f"batch normalisation ({found[0]}) needs the statistics of the whole batch, which processes on CPUs cannot "
            "share in PyTorch. Choose another normalisation, or train in one process."
        )
    return nn.SyncBatchNorm.convert_sync_batchnorm(module)  # type: ignore[no-any-return, no-untyped-call]
