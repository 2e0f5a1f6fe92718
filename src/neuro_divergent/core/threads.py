"""How many threads a piece of work deserves.

Two OpenMP threads gain nothing on small matrices and lose a factor of ten or more when another process is busy, because
each small operation ends with threads waiting for each other. So the count follows from the size of the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# Multiply-adds of one forward pass below which one thread is as fast; measured with benchmarks/threads.py.
WORTH_A_SECOND_THREAD = 50_000_000


def available_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def threads_for(work: int) -> int:
    """Return the threads for a forward pass of ``work`` multiply-adds."""
    return 1 if work < WORTH_A_SECOND_THREAD else available_cores()


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
