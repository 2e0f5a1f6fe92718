"""What a run was made with."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
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


def describe_commit(directory: Path | None = None) -> dict[str, Any] | None:
    """Return which commit of the user's project is checked out, and whether files differ from it.

    Args:
        directory: A directory of the project; the current one if none is given.

    Returns:
        ``commit`` and ``has_changes``, or ``None`` outside of a repository or without git.
    """
    commit, status = (_git(*words, directory=directory) for words in (("rev-parse", "HEAD"), ("status", "--porcelain")))
    return None if not commit else {"commit": commit, "has_changes": bool(status)}


def _git(*words: str, directory: Path | None) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=directory, capture_output=True, text=True, timeout=5, check=False, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
