"""How many threads a piece of work deserves.

Two OpenMP threads gain nothing on small matrices and lose a factor of ten or more when another process is busy, because
each operation ends with threads waiting for each other. So the count follows from the size of the work. It does not
follow from the load of the machine: the same run would then give other bits on another day.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Multiply-adds of one forward pass. On a quiet machine a second thread begins to pay at a fifth of this and makes steps
# 1.5 times faster from a third on (benchmarks/threads.py); but steps are then so short that the gain is seconds, and on
# a busy machine the loss would be minutes.
WORTH_A_SECOND_THREAD = 200_000_000


class ThreadWarning(UserWarning):
    """Other processes keep the threads waiting for each other."""


def available_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_for(work: int) -> int:
    """Return the threads for a forward pass of ``work`` multiply-adds."""
    return 1 if work < WORTH_A_SECOND_THREAD else available_cores()


class Contention:
    """Notices when several threads get less of the machine than they were meant to have."""

    def __init__(self, threads: int, patience: float = 5.0) -> None:
        self._threads = threads
        self._patience = patience
        self._wall, self._processor = time.perf_counter(), time.process_time()
        self._told = threads == 1

    def check(self) -> None:
        """Warn, once, if the threads were kept waiting since the last check that was long enough ago."""
        wall, processor = time.perf_counter(), time.process_time()
        if self._told or wall - self._wall < self._patience:
            return
        share = (processor - self._processor) / (wall - self._wall)
        self._wall, self._processor = wall, processor
        if share < 0.8 * self._threads:
            self._told = True
            warnings.warn(
                f"{self._threads} threads get {share:.1f} cores, because other processes are busy. One thread may be "
                "many times faster now: set threads=1.",
                ThreadWarning,
                stacklevel=2,
            )


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Let torch use ``count`` threads inside the block, and what it used before afterwards."""
    import torch

    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
