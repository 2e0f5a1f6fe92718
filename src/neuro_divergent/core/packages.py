"""Packages that are extras: imported when they are needed, with the extra named where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from neuro_divergent.core.errors import MissingDependencyError

_EXTRAS = {"msgspec": "serving", "onnxruntime": "serving", "onnx": "export", "onnxscript": "export"}
"""The extra of packages that modules import at their top."""


def extra_of(name: str) -> str | None:
    """Return the extra that installs a package, or a module of one; ``None`` for one that modules do not import."""
    return _EXTRAS.get(name.partition(".")[0])


def missing_extra(error: ModuleNotFoundError) -> MissingDependencyError | None:
    """Return the error to raise instead where the package of an extra is not installed; ``None`` for another one."""
    name = error.name or ""
    extra = extra_of(name)
    return None if extra is None else _missing("this needs", name, extra)


def load_package(name: str, purpose: str, extra: str) -> Any:
    """Return a package or a module of one.

    Args:
        name: Its name.
        purpose: What needs it, as the beginning of a sentence: ``"reading databases needs"``.
        extra: The extra of this package that installs it.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise _missing(purpose, name, extra) from None


def _missing(purpose: str, name: str, extra: str) -> MissingDependencyError:
    package = name.partition(".")[0]
    return MissingDependencyError(
        f'{purpose} the package {package}, which is not installed. Run: pip install "neuro-divergent[{extra}]"'
    )
