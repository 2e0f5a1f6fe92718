"""Evaluation mode for diagnostics that restores the state of the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode inside the block; modes and random state are restored afterwards."""
    modes = [(part, part.training) for part in network.modules()]
    # Modes are restored one by one: ``train()`` would clear the fused weights of blocks.
    with torch.random.fork_rng(), torch.backends.cudnn.flags(enabled=False):  # cuDNN refuses gradients here
        try:
            network.eval()
            yield
        finally:
            for part, mode in modes:
                part.training = mode
