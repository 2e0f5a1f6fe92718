"""SQLAlchemy and database drivers, which are extras."""

from __future__ import annotations

import importlib
from typing import Any

from neuro_divergent.core.errors import MissingDependencyError


def load_sqlalchemy(name: str = "sqlalchemy") -> Any:
    """Return SQLAlchemy, or a package that goes with it.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package, extra = name.partition(".")[0], "postgresql" if name == "psycopg" else "lifecycle"
        raise MissingDependencyError(
            f"the registry of models and continuous training need the package {package}, which is not installed. "
            f'Run: pip install "neuro-divergent[{extra}]"'
        ) from None
