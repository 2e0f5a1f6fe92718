"""Randomness that depends on a seed and on nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def seed_of(seed: int, rank: int) -> int:
    """Return the seed of one of several processes; that of process 0 is the seed itself."""
    import numpy as np

    return int(np.random.SeedSequence([seed, rank]).generate_state(1, np.uint64)[0] >> 1) if rank else seed


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch inside the block and restore the caller's random state afterwards.

    The same seed gives the same random numbers whatever ran before, and the random state of the caller is not
    changed.
    """
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def random_state(device: torch.device) -> dict[str, Any]:
    """Return the states of all generators that code in training may draw from.

    Training itself draws from torch only. A user's data sets and callbacks may also use Python's and NumPy's global
    generators.
    """
    import numpy as np
    import torch

    kind, keys, position, has_gauss, gauss = np.random.get_state()
    state: dict[str, Any] = {
        "cpu": torch.get_rng_state(),
        "python": list(random.getstate()),
        "numpy": [kind, torch.from_numpy(np.array(keys).astype(np.int64)), position, has_gauss, gauss],
    }
    if device.type != "cpu":
        state[device.type] = torch.get_device_module(device).get_rng_state()
    return state


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Restore the generators from ``random_state``; those that it does not contain are not changed."""
    import numpy as np
    import torch

    torch.set_rng_state(state["cpu"])
    if "python" in state:
        version, numbers, gauss = state["python"]
        random.setstate((version, tuple(numbers), gauss))
    if "numpy" in state:
        kind, keys, *rest = state["numpy"]
        np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    if device.type in state and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(state[device.type])
