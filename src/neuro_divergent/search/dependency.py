"""Optuna, which is an extra and takes a second to import."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from neuro_divergent.core.errors import MissingDependencyError


def load_optuna(name: str = "optuna") -> Any:
    """Return Optuna, or a package that goes with it.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    is_new = "optuna" not in sys.modules
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="IProgress not found")  # of a package that Optuna loads
            module = importlib.import_module(name)
    except ImportError:
        package, extra = name.partition(".")[0], "postgresql" if name == "psycopg" else "search"
        raise MissingDependencyError(
            f'search needs the package {package}, which is not installed. Run: pip install "neuro-divergent[{extra}]"'
        ) from None
    if is_new and name == "optuna":
        module.logging.set_verbosity(module.logging.WARNING)  # a library prints nothing
    return module


@contextmanager
def without_warnings() -> Iterator[None]:
    """Hide what Optuna says about parts that it calls experimental, inside the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
