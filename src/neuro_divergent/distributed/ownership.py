"""Parameters that each belong to one of several processes, which tells the others how they changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from neuro_divergent.distributed.exchange import unflatten


class Ownership:
    """Deals out parameters to processes, each to one, so that all have about as many numbers.

    Args:
        parameters: What is dealt out, in the same order in all processes.
        rank: Number of this process.
        world_size: Number of processes.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], rank: int, world_size: int) -> None:
        loads = [0] * world_size
        owners: dict[nn.Parameter, int] = {}
        for parameter in sorted(parameters, key=lambda item: -item.numel()):
            owners[parameter] = loads.index(min(loads))
            loads[owners[parameter]] += parameter.numel()
        self.own = [parameter for parameter in parameters if owners[parameter] == rank]
        self._rank = rank
        self._buckets: dict[tuple[int, torch.dtype], list[nn.Parameter]] = {}
        for parameter in parameters:
            self._buckets.setdefault((owners[parameter], parameter.dtype), []).append(parameter)

    @torch.no_grad()
    def exchange(self) -> None:
        """Give every parameter the value that it has in the process that it belongs to."""
        sent = []
        for (owner, _), members in self._buckets.items():
            flat = torch.cat([item.detach().reshape(-1) for item in members])
            sent.append((dist.broadcast(flat, owner, async_op=True), owner, flat, members))
        for work, owner, flat, members in sent:
            assert work is not None
            work.wait()
            if owner != self._rank:
                unflatten(flat, members)


def merge(states: Sequence[Any]) -> Any:
    """Return one state with all that several have: dicts and lists are merged, of other values the first counts."""
    first = states[0]
    if isinstance(first, Mapping):
        keys = dict.fromkeys(key for state in states for key in state)
        return {key: merge([state[key] for state in states if key in state]) for key in keys}
    if isinstance(first, (list, tuple)):
        return type(first)(merge(items) for items in zip(*states, strict=True))
    return first
