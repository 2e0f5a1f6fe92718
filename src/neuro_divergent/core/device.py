"""Where tensors live."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.launched import launched

if TYPE_CHECKING:
    import torch


class DeviceWarning(UserWarning):
    """The device asked for is not there, and another one is used."""


def resolve_device(name: str = "auto") -> torch.device:
    """Return the device for ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps`` and the like.

    ``auto`` takes CUDA, then Metal, then the CPU. Processes that train together take one CUDA device each. A device
    that this machine lacks falls back to the CPU with a ``DeviceWarning``.
    """
    import torch

    place = launched()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device: {name!r} is not a device; use auto, cpu, cuda, cuda:0 or mps.") from None
    if place is not None and device.type == "cuda" and device.index is None:
        device = torch.device("cuda", place.local_rank)
    if not _present(device):
        warnings.warn(f"device {name!r} is not available here; training on the CPU.", DeviceWarning, stacklevel=2)
        return torch.device("cpu")
    return device


def _present(device: torch.device) -> bool:
    import torch

    if device.type == "cuda":
        return torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
    if device.type == "mps":
        return torch.backends.mps.is_available()
    return device.type == "cpu"
