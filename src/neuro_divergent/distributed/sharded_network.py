"""A network whose weights are dealt out to processes, and put together again."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.distributed.waiting import Waiting
from neuro_divergent.training.parted import is_parted, put_together

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # torch imports what torch deprecates
    from torch.distributed._composable_state import _module_state_mapping
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather, DefaultReduceScatter
    from torch.distributed.tensor import DTensor, distribute_tensor


class ShardedNetwork:
    """Deals out the weights of a network with torch's ``fully_shard``, in place, until ``restore``.

    Each block is gathered by itself just before it computes and dropped after, forwards and backwards. Gradients are
    added up over processes, and each keeps those of its part.

    Args:
        module: The network, with the same weights in all processes.
        device: Where it is trained.
        min_block: Weights that a block has at least, to be gathered by itself.
        waiting: Measures the time that exchanges take.
    """

    def __init__(self, module: nn.Module, device: torch.device, min_block: int, waiting: Waiting) -> None:
        refuse_scalars(module)
        self.module = module
        self._device = device
        self._before = {part: (type(part), _hooks(part), set(vars(part))) for part in module.modules()}
        self._parameters = {part: dict(part._parameters) for part in module.modules()}
        self._mesh = init_device_mesh(device.type, (dist.get_world_size(),))
        for part in [*reversed(list(find_blocks(module, min_block))), module]:
            part.register_forward_hook(_without_views)
            sharded = fully_shard(part, mesh=self._mesh, reshard_after_forward=True)
            sharded.set_gradient_divide_factor(1.0)
            sharded.set_force_sum_reduction_for_comms(True)
            sharded.set_custom_all_gather(_AllGather(waiting))
            sharded.set_custom_reduce_scatter(_ReduceScatter(waiting))
        for parameter in self._originals():  # they keep their places but not their memory
            parameter.data = parameter.data.new_empty(0)

    def restore(self) -> None:
        """Make the network an ordinary one again, with all weights on its device, or on the CPU if they do not fit."""
        kept = [(part, name, item) for part, items in self._parameters.items() for name, item in items.items()]
        is_done: set[nn.Parameter] = set()
        wholes: dict[nn.Parameter, Tensor] = {}
        for part, name, original in kept:
            if original is not None and original not in is_done:
                is_done.add(original)
                wholes[original] = put_together(part._parameters[name].detach()).cpu()  # type: ignore[union-attr]
        for part, (kind, hooks, names) in self._before.items():
            part.__class__ = kind
            for name in set(vars(part)) - names:
                del vars(part)[name]
            vars(part).update(hooks)
            _module_state_mapping.pop(part, None)
        for original, whole in wholes.items():
            original.data = whole
        for part, name, original in kept:
            if original is not None:
                setattr(part, name, original)
        try:
            self.module.to(self._device)
        except torch.OutOfMemoryError:
            self.module.cpu()

    def dealt_out(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the part of this process of whole weights by name; buffers stay as they are."""
        now = self.module.state_dict()
        return {name: self._like(tensor, now.get(name)) for name, tensor in state.items()}

    def copies_dealt_out(self, value: Any) -> Any:
        """Return a state with all copies of the weights in it dealt out: dicts with the names of the network's."""
        if isinstance(value, Mapping):
            if value.keys() == self.module.state_dict().keys():
                return self.dealt_out(value)
            return {key: self.copies_dealt_out(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.copies_dealt_out(item) for item in value)
        return value

    def part_of(self, parameter: nn.Parameter, value: Tensor) -> Tensor:
        """Return the part of this process of a tensor that belongs to a parameter, if it has its shape."""
        if not isinstance(parameter, DTensor) or value.shape != parameter.shape:
            return value
        return self._like(value, parameter).to_local()  # type: ignore[attr-defined, no-any-return]

    def whole_of(self, parameter: nn.Parameter, value: Tensor) -> Tensor:
        """Return the whole of which a tensor is the part that belongs to a parameter, if it has its shape."""
        if not isinstance(parameter, DTensor) or value.shape != parameter.to_local().shape:
            return value
        whole = DTensor.from_local(
            value, self._mesh, parameter.placements, shape=parameter.shape, stride=parameter.stride()
        )
        return kept_by_main(whole)

    def _like(self, tensor: Tensor, parameter: Tensor | None) -> Tensor:
        if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
            return tensor
        on_device = tensor.to(parameter.device)
        return distribute_tensor(on_device, self._mesh, parameter.placements, src_data_rank=None)

    def _originals(self) -> set[nn.Parameter]:
        return {item for items in self._parameters.values() for item in items.values() if item is not None}


class _AllGather(DefaultAllGather):
    """Gathers the weights of a block, as torch does, and measures how long that takes."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    def __call__(self, *arguments: Any, **options: Any) -> dist.Work | None:
        with self._waiting:
            return super().__call__(*arguments, **options)


class _ReduceScatter(DefaultReduceScatter):
    """Adds up the gradients of a block, as torch does, and measures how long that takes."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    def __call__(self, *arguments: Any, **options: Any) -> dist.Work:
        with self._waiting:
            return super().__call__(*arguments, **options)


def find_blocks(module: nn.Module, min_block: int) -> Iterator[nn.Module]:
    """Yield what lists and sequences of a network hold, if it is large enough and shares no weight with the rest."""
    uses: dict[nn.Parameter, int] = {}
    for part in module.modules():
        for item in part._parameters.values():
            if item is not None:
                uses[item] = uses.get(item, 0) + 1
    for part in module.modules():
        if isinstance(part, (nn.ModuleList, nn.Sequential)):
            for child in part:
                own = list(child.parameters())
                is_shared = any(uses[item] > 1 for item in own)
                is_container = isinstance(child, (nn.ModuleList, nn.ModuleDict))
                if not is_container and not is_shared and sum(item.numel() for item in own) >= min_block:
                    yield child


def refuse_scalars(module: nn.Module) -> None:
    """Refuse parameters that are single numbers, which cannot be dealt out."""
    found = [name for name, item in module.named_parameters() if item.ndim == 0]
    if found:
        raise ConfigError(
            f"strategy: sharded: the parameter {found[0]} is a single number, which cannot be dealt out to processes. "
            "Give it one axis, or use strategy=zero."
        )


def put_all_together(value: Any) -> Any:
    """Return a state in which tensors that processes hold parts of are whole in process 0, on its CPU."""
    if isinstance(value, Tensor):
        return kept_by_main(value)
    if isinstance(value, Mapping):
        return {key: put_all_together(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(put_all_together(item) for item in value)
    return value


def kept_by_main(tensor: Tensor) -> Tensor:
    """Return a tensor put together in process 0, and as it is in the others, which need no memory for it."""
    if not is_parted(tensor):
        return tensor
    whole = put_together(tensor.detach())
    return whole.cpu() if dist.get_rank() == 0 else tensor


def _without_views(part: nn.Module, inputs: Any, output: Any) -> Any:
    """Return an output that shares no memory: changed in place, a view would lose the hook that torch gives it."""
    return tree_map_only(Tensor, lambda item: item.clone() if item.requires_grad and item._is_view() else item, output)


def _hooks(part: nn.Module) -> dict[str, Any]:
    return {name: copy.copy(value) for name, value in vars(part).items() if "hook" in name}
