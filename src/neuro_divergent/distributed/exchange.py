"""Tensors that all processes get the same values of: those of the first process, or the mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn


@torch.no_grad()
def average(tensors: Iterable[Tensor], size: int, group: dist.ProcessGroup | None = None) -> None:
    """Replace tensors of floating-point numbers by their mean over processes, with one exchange for each type.

    Args:
        tensors: The same in all processes but for their values; others than floating-point ones are left alone.
        size: Number of processes of the group.
        group: The processes; all if left out.
    """
    buckets: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
    for tensor in tensors:
        if tensor.is_floating_point():
            buckets.setdefault((tensor.dtype, tensor.device), []).append(tensor)
    for members in buckets.values():
        flat = torch.cat([item.detach().reshape(-1) for item in members])
        dist.all_reduce(flat, group=group)
        unflatten(flat.div_(size), members)


def broadcast_weights(module: nn.Module) -> None:
    """Give parameters and buffers the values they have in process 0."""
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            sent = tensor.detach().contiguous()
            dist.broadcast(sent, 0)
            tensor.copy_(sent)


def unflatten(flat: Tensor, members: Sequence[Tensor]) -> None:
    """Copy what lies end to end in one tensor to others."""
    pieces = torch.split(flat, [item.numel() for item in members])
    torch._foreach_copy_(
        [item.detach() for item in members], [p.view_as(m) for p, m in zip(pieces, members, strict=True)]
    )
