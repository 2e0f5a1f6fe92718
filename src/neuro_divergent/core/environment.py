"""What a run was made with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from neuro_divergent.core.threads import available_cores

_PACKAGES = ("neuro-divergent", "torch", "numpy", "polars", "safetensors", "pydantic")


def describe_environment(*, threads: int, device: str) -> dict[str, Any]:
    """Return versions, machine, device and thread count: what must be equal for two runs to give equal bits."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": available_cores(),
        "threads": threads,
        "device": device,
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
