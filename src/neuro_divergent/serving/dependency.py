"""Packages of serving and export, which are extras."""

from __future__ import annotations

import importlib
from typing import Any

from neuro_divergent.core.errors import MissingDependencyError

_EXTRAS = {"onnx": "export", "onnxscript": "export"}


def load_package(name: str) -> Any:
    """Return a package, or a module of one.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        extra = _EXTRAS.get(package, "serving")
        what = "exporting models needs" if extra == "export" else "serving models needs"
        raise MissingDependencyError(
            f'{what} the package {package}, which is not installed. Run: pip install "neuro-divergent[{extra}]"'
        ) from None
