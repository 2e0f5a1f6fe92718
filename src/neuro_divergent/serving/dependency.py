"""Packages of serving and export, which are extras."""

from __future__ import annotations

from typing import Any

from neuro_divergent.core import packages


def load_package(name: str) -> Any:
    """Return a package, or a module of one.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    extra = packages.extra_of(name) or "serving"
    return packages.load_package(name, "exporting models needs" if extra == "export" else "serving models needs", extra)
