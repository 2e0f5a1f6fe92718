"""Randomness that depends on a seed and on nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch inside the block and give the caller's random state back afterwards.

    The same seed gives the same numbers whatever ran before, and whoever calls a library function does not find his own
    random numbers changed by it.
    """
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
