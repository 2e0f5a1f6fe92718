"""What a run was made with."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from neuro_divergent.core.instructions import VARIABLE
from neuro_divergent.core.threads import core_limits

_PACKAGES = ("neuro-divergent", "torch", "numpy", "polars", "safetensors", "pydantic")


def describe_environment(*, threads: int, device: str) -> dict[str, Any]:
    """Return versions, machine, device and thread count: what must be equal for two runs to give equal bits."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": min(count for name, count in core_limits().items() if name != "torch"),  # training has set that one
        "threads": threads,
        "instruction_limit": os.environ.get(VARIABLE),
        "device": device,
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def describe_commit(directory: Path | None = None) -> dict[str, Any] | None:
    """Return which commit is checked out in a directory (the current one by default) and whether its files differ.

    Files that the project does not know, such as those of a run, make no difference.

    Returns:
        ``commit`` and ``has_changes`` (``None`` if git does not say), or ``None`` outside of a repository or without
            git.
    """
    commit = _git("rev-parse", "HEAD", directory=directory)
    if not commit:
        return None
    status = _git("status", "--porcelain", "--untracked-files=no", directory=directory)
    return {"commit": commit, "has_changes": None if status is None else bool(status)}


def _git(*words: str, directory: Path | None) -> str | None:
    try:
        command = ["git", "--no-optional-locks", *words]
        done = subprocess.run(command, cwd=directory, capture_output=True, timeout=5, check=False, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
