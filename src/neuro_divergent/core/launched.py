"""Whether this process is one of several that train together, as launchers tell it through the environment."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from typing import NamedTuple

from neuro_divergent.core.errors import InputError

_TORCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_SLURM = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE")
_OPEN_MPI = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
_MEETING = "MASTER_ADDR"
LAUNCHER = "ND_LAUNCHER"
"""Environment variable that is set where our own launcher watches this process and says why another one failed.

It is the number of the process where that was forked, which tells it from those that it starts itself.
"""


class Launched(NamedTuple):
    """The place of this process among those that train together.

    Attributes:
        rank: Its number, from 0.
        world_size: Number of processes.
        local_rank: Its number among those of this machine, from 0.
        local_world_size: Number of processes on this machine.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int

    def __str__(self) -> str:
        return f"process {self.rank} of {self.world_size}"


def launched(environment: Mapping[str, str] | None = None) -> Launched | None:
    """Return the place of this process in a group of at least two, or ``None`` if it trains alone.

    The variables are those of ``torchrun``. Those of SLURM (``srun``) and Open MPI count where ``MASTER_ADDR`` says
    where the processes meet; without it, they are tasks that have nothing to do with each other. A worker process that
    was started by one of them trains alone.

    Raises:
        InputError: If a variable is not a number, or the numbers do not fit together.
    """
    known = os.environ if environment is None else environment
    if multiprocessing.parent_process() is not None and known.get(LAUNCHER) != str(os.getpid()):
        return None
    names = _TORCH
    if "RANK" not in known and _MEETING in known:
        names = _SLURM if _SLURM[0] in known else _OPEN_MPI
    if names[0] not in known or names[1] not in known:
        return None
    rank, world_size = (_number(known, name) for name in names[:2])
    local_rank = _number(known, names[2]) if names[2] in known else rank
    local_world_size = _number(known, names[3]) if names[3] in known else max(local_rank + 1, 1)
    if not (0 <= rank < world_size and 0 <= local_rank < local_world_size <= world_size):
        told = ", ".join(f"{name}={known[name]}" for name in names if name in known)
        raise InputError(f"the launcher's variables do not fit together: {told}.")
    return Launched(rank, world_size, local_rank, local_world_size) if world_size > 1 else None


def _number(known: Mapping[str, str], name: str) -> int:
    text = known[name].strip()
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"{name}: {text!r} is not a number; a launcher such as torchrun sets it.")
    return int(text)
