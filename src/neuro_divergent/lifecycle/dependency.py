"""SQLAlchemy and database drivers, which are extras."""

from __future__ import annotations

from typing import Any

from neuro_divergent.core.packages import load_package


def load_sqlalchemy(name: str = "sqlalchemy") -> Any:
    """Return SQLAlchemy, or a package that goes with it.

    Raises:
        MissingDependencyError: If it is not installed; the message names the extra.
    """
    extra = "postgresql" if name == "psycopg" else "lifecycle"
    return load_package(name, "the registry of models and continuous training need", extra)
