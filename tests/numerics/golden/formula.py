"""Weights and inputs from a formula that gives the same numbers on every machine and with every version of torch."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch, Feature, TaskSpec

WINDOWS = 3


def numbers(name: str, *shape: int) -> Tensor:
    """Return numbers between -1 and 1 in double precision that depend on a name and on their position alone.

    Position and name are mixed by whole-number arithmetic (the finalizer of SplitMix64), which no processor rounds. A
    sine of the position would make matrices of rank two, in which many mistakes cancel.
    """
    with np.errstate(over="ignore"):
        mixed = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed += np.uint64(zlib.crc32(name.encode()) << 32)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return torch.from_numpy((mixed >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1).view(shape)


def weight(name: str, like: Tensor) -> Tensor:
    """Return the value of a parameter: what was made as ones stays near one, and matrices keep the size of inputs."""
    made = numbers(name, *like.shape)
    if bool((like == 1).all()):
        return 1 + made / 2
    return made * math.sqrt(3 / (like.numel() / len(like))) if like.ndim > 1 else made / 2


@contextmanager
def double_precision() -> Iterator[None]:
    """Make tensors, the constants that a constructor computes among them, in double precision."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@torch.no_grad()
def set_weights(network: nn.Module) -> nn.Module:
    """Make a network double, in eval, and give it weights and running statistics by formula.

    Everything else that its constructor computes (bases, filters, positions, masks, grids) stays as it is.
    """
    network = network.double().eval()
    for name, value in network.named_parameters():
        value.copy_(weight(name, value))
    for name, buffer in network.named_buffers():
        if name.endswith("running_mean"):
            buffer.copy_(numbers(name, *buffer.shape) / 2)
        elif name.endswith("running_var"):
            buffer.copy_(1 + numbers(name, *buffer.shape) / 2)
    return network


def batch_for(spec: TaskSpec, missing: bool = False) -> Batch:
    """Return windows by formula: uneven waves with a level, and about a third of the values missing if wanted."""
    shape = (WINDOWS, spec.input_size, spec.channels)
    mask = torch.ones(1, 1, 1, dtype=torch.float64).expand(shape)  # as the loader says that nothing is missing
    if missing:
        mask = (numbers("mask", *shape) > -0.4).double()
        mask[-1] = 0  # a window without any value
    return Batch(
        past_y=(1.5 * numbers("past_y", *shape) + 0.5) * mask,
        past_mask=mask,
        past_x=_columns("past_x", spec.past, spec.input_size),
        future_x=_columns("future_x", spec.future, spec.input_size + spec.horizon),
        static_x=_columns("static_x", spec.static),
    )


def _columns(role: str, features: tuple[Feature, ...], *steps: int) -> Tensor | None:
    """Return covariates: numbers, or codes from 0 (never seen) on."""
    if not features:
        return None
    columns = []
    for feature in features:
        made = numbers(f"{role}.{feature.name}", WINDOWS, *steps)
        columns.append(made if feature.cardinality is None else ((made + 1) / 2 * feature.cardinality).floor())
    return torch.stack(columns, -1)
