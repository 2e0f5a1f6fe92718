"""Looking at a network without leaving a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode inside the block; modes and random state are as before afterwards."""
    modes = [(part, part.training) for part in network.modules()]
    # Modes are set back one by one: ``train()`` would make blocks forget what they worked out for forecasts.
    with torch.random.fork_rng(), torch.backends.cudnn.flags(enabled=False):  # cuDNN refuses gradients here
        try:
            network.eval()
            yield
        finally:
            for part, mode in modes:
                part.training = mode
