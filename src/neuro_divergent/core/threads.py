"""How many threads a piece of work deserves.

Two OpenMP threads gain nothing on small matrices and lose a factor of ten or more when another process is busy, because
each operation ends with threads waiting for each other. So the count follows from the size of the work, within what
this process may use, and not from the load of the machine: ``Contention`` notices when that keeps threads waiting.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from neuro_divergent.core.cgroup import cpu_quota
from neuro_divergent.core.launched import launched

# Multiply-adds of one forward pass. On a quiet machine a second thread begins to pay at a fifth of this and makes steps
# 1.5 times faster from a third on (benchmarks/threads.py); but steps are then so short that the gain is seconds, and on
# a busy machine the loss would be minutes.
WORTH_A_SECOND_THREAD = 200_000_000

_TASKS = Path("/proc/self/task")
_PATIENCE = 2.0  # seconds between two looks
_KEPT_WAITING = 0.2  # of the time of all threads; one busy process beside two threads on two cores takes a third
_FEW_CORES = 0.7  # of those the threads were meant to have; where the kernel does not tell for how long they waited
_SWITCHES = 20  # times a second and thread that another process took the core


class ThreadWarning(UserWarning):
    """Other processes kept the threads waiting for each other, and one thread goes on."""


def core_limits() -> dict[str, int]:
    """Return what limits the cores of this process: a reason and a number of cores for each limit.

    ``processes`` is an equal part for each of those that train together on this machine. ``torch`` is what
    ``torch.set_num_threads`` was told or torch found out itself, if it is loaded.
    """
    limits = {"machine": os.cpu_count() or 1}
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity:
        limits["affinity"] = len(affinity(0))
    if (quota := cpu_quota()) is not None:
        limits["quota"] = quota
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list is for nested regions
    if told.isascii() and told.isdigit() and int(told):
        limits["OMP_NUM_THREADS"] = int(told)
    if (place := launched()) is not None:
        limits["processes"] = max(limits["machine"] // place.local_world_size, 1)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):  # it has not while it is being loaded
        limits["torch"] = int(torch.get_num_threads())
    return limits


def available_cores() -> int:
    """Return how many cores this process may use: the smallest of ``core_limits``."""
    return min(core_limits().values())


def threads_for(work: int) -> int:
    """Return the threads for a forward pass of ``work`` multiply-adds."""
    return 1 if work < WORTH_A_SECOND_THREAD else available_cores()


class Contention:
    """Notices when several threads get less of the machine than they were meant to have.

    Linux tells for how long each thread was ready and had no core. Elsewhere the processor time has to be low while
    other processes take the cores again and again; a system that does not count that is never found busy.

    Args:
        threads: How many there are.
        patience: Seconds that are judged at once.
    """

    def __init__(self, threads: int, patience: float = _PATIENCE) -> None:
        self._threads = threads
        self._patience = patience
        self._next = float("inf") if threads == 1 else time.perf_counter() + patience
        self._before = None if threads == 1 else _Usage.now()

    def is_found(self) -> bool:
        """Whether the threads were kept waiting since the last look that was long enough ago; cheap to ask."""
        wall = time.perf_counter()
        if wall < self._next or self._before is None:
            return False
        self._next = wall + self._patience
        before, self._before = self._before, _Usage.now()
        return self._before.is_kept_waiting_since(before, self._threads)


class _Usage(NamedTuple):
    """What the threads of this process got of the machine until now."""

    wall: float
    processor: float
    switches: int
    waited: float | None

    @classmethod
    def now(cls) -> _Usage:
        try:
            import resource

            switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        except ImportError:
            switches = 0
        return cls(time.perf_counter(), time.process_time(), switches, _waited())

    def is_kept_waiting_since(self, before: _Usage, threads: int) -> bool:
        meant = threads * (self.wall - before.wall)
        if self.waited is not None and before.waited is not None:
            return self.waited - before.waited > _KEPT_WAITING * meant
        is_short = self.processor - before.processor < _FEW_CORES * meant
        return is_short and self.switches - before.switches > _SWITCHES * meant


def _waited() -> float | None:
    """Return for how many seconds threads of this process were ready and had no core; ``None`` if nobody tells."""
    waited = []
    with suppress(OSError):
        for task in os.listdir(_TASKS):  # noqa: PTH208 (names are all that is needed)
            with suppress(OSError, ValueError, IndexError):  # a thread that just ended, or a kernel that does not tell
                waited.append(int((_TASKS / task / "schedstat").read_bytes().split()[1]))
    return sum(waited) / 1e9 if waited else None


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Let torch use ``count`` threads inside the block, which may change that, and what it used before afterwards."""
    import torch

    before = torch.get_num_threads()
    if before != count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)
