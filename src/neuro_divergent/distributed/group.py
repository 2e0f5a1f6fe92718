"""The processes that train together, and what they say to each other."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import _set_pg_timeout

from neuro_divergent.core.errors import ConfigError, InputError, ProcessLostError
from neuro_divergent.core.launched import Launched, launched
from neuro_divergent.distributed.message import decode, encode
from neuro_divergent.distributed.network_interface import interface_towards

Value = TypeVar("Value")

_PORT = "29500"
_SECONDS_TO_JOIN = 600.0
_INTERFACE = "GLOO_SOCKET_IFNAME"
"""Variable of gloo. Without it, gloo takes the address that the name of the machine stands for, or else loopback, which
is often not the one that the other machines reach."""
_BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
_SIGNS = ("gloo", "nccl", "closed by peer", "connection reset", "broken pipe", "socket timeout", "process group")
"""Words in errors of torch about the connection between processes, which are plain ``RuntimeError`` in part."""


class ProcessGroup:
    """A group of processes, joined through ``torch.distributed``. All make the same calls in the same order.

    Flags and messages travel through the CPU, also where gradients and sums are added up between GPUs.

    Args:
        place: The place of this process in it.
    """

    def __init__(self, place: Launched) -> None:
        self.rank = place.rank
        self.world_size = place.world_size

    def all_reduce(self, total: Any, weight: Any) -> tuple[Any, Any]:
        """Return a sum and the sum of its weights, each added up over processes.

        Numbers, also in tensors, are added up in float64 and come back as what they were; other tensors in their type.
        """
        if isinstance(total, Tensor) and total.numel() != 1:
            whole = total.detach().clone()
            dist.all_reduce(whole)
            return whole, self.all_reduce(weight, 0.0)[0]
        device = (
            total.device if isinstance(total, Tensor) else None
        )  # numbers on a GPU stay there: nothing waits for it
        both = torch.stack([_number(value, device) for value in (total, weight)])
        dist.all_reduce(both)
        return _like(total, both[0]), _like(weight, both[1])

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        """Return for each flag whether it is set in at least one process."""
        shared = torch.tensor(flags, dtype=torch.uint8)
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return tuple(bool(flag) for flag in shared.tolist())

    def broadcast(self, value: Value) -> Value:
        """Return the value of process 0."""
        content = encode(value) if self.rank == 0 else b""
        size = torch.tensor([len(content)])
        dist.broadcast(size, 0)
        buffer = _buffer(content) if self.rank == 0 else torch.empty(int(size), dtype=torch.uint8)
        dist.broadcast(buffer, 0)
        return value if self.rank == 0 else decode(buffer.numpy().tobytes())

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, in their order."""
        padded, sizes = self._padded(value)
        found = [torch.empty_like(padded) for _ in range(self.world_size)]
        dist.all_gather(found, padded)
        return _decoded(found, sizes)

    def gather_to_main(self, value: Value) -> list[Value] | None:
        """Return the values of all processes, in their order, in process 0, and ``None`` in the others."""
        padded, sizes = self._padded(value)
        found = [torch.empty_like(padded) for _ in range(self.world_size)] if self.rank == 0 else None
        dist.gather(padded, found)
        return None if found is None else _decoded(found, sizes)

    def _padded(self, value: Any) -> tuple[Tensor, list[int]]:
        """Return a message, as long as the longest of all processes, and the lengths of all."""
        content = _buffer(encode(value))
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.world_size)]
        dist.all_gather(sizes, torch.tensor([len(content)]))
        lengths = [int(size) for size in sizes]
        padded = torch.zeros(max(lengths), dtype=torch.uint8)
        padded[: len(content)] = content
        return padded, lengths


def join_group(device: torch.device, timeout: float) -> ProcessGroup:
    """Join the group that the launcher's variables describe, unless this process is in one, and return it.

    Args:
        device: Where gradients are: gloo adds them up on the CPU, nccl between GPUs.
        timeout: Seconds to wait for other processes. At the start it is ten minutes at least, since one machine may
            load torch and data much later than another.

    Raises:
        InputError: If no launcher started this process.
        ConfigError: If devices of this kind cannot talk to each other.
        ProcessLostError: If the others do not come.
    """
    place = launched()
    if place is None:
        raise InputError("there is no group to join: start the processes with 'nd train --processes 2' or torchrun.")
    if device.type not in _BACKENDS:
        raise ConfigError(f"device: processes cannot add up gradients on {device.type}; use cpu or cuda.")
    if not dist.is_initialized():
        os.environ.setdefault("MASTER_PORT", _PORT)
        interface = interface_towards(os.environ.get("MASTER_ADDR", ""))
        if interface is not None:
            os.environ.setdefault(_INTERFACE, interface)
        if device.type == "cuda":
            torch.cuda.set_device(device)
        with explaining_loss(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            dist.init_process_group(
                _BACKENDS[device.type],
                rank=place.rank,
                world_size=place.world_size,
                timeout=timedelta(seconds=max(timeout, _SECONDS_TO_JOIN)),
            )
            if device.type == "cpu":
                # A process that ends at once, since it refuses its settings, would cut off those that still connect.
                # nccl connects when it first computes.
                dist.barrier()
            _set_pg_timeout(timedelta(seconds=timeout))
        atexit.register(leave_group)
    return ProcessGroup(place)


def leave_group() -> None:
    """Leave the group, if this process is in one."""
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def explaining_loss() -> Iterator[None]:
    """Turn errors about the connection to other processes into ``ProcessLostError``."""
    try:
        yield
    except RuntimeError as error:
        text = " ".join(str(error).split())
        is_about_connection = isinstance(error, dist.DistError) or any(sign in text.lower() for sign in _SIGNS)
        if not is_about_connection:
            raise
        raise ProcessLostError(
            f"lost contact with another process of this training: {text[:200]}. What that process says tells why."
        ) from error


def _buffer(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _decoded(messages: list[Tensor], sizes: list[int]) -> list[Any]:
    return [decode(item[:size].numpy().tobytes()) for item, size in zip(messages, sizes, strict=True)]


def _number(value: Tensor | float, device: torch.device | None) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach().to(device, torch.float64).reshape(())
    return torch.tensor(value, dtype=torch.float64, device=device)


def _like(given: Tensor | float, result: Tensor) -> Tensor | float:
    """Return a result as a tensor like the one given, or as a number."""
    if not isinstance(given, Tensor):
        return float(result)
    return result.to(given.device, given.dtype).reshape(given.shape)
