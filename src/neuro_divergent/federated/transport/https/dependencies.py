"""What HTTPS needs besides the package itself."""

from __future__ import annotations

from importlib.util import find_spec

from neuro_divergent.core.errors import MissingDependencyError

_NEEDED = ("starlette", "uvicorn", "httpx2", "cryptography")


def require_installed() -> None:
    """Raise an error if something is missing.

    Raises:
        MissingDependencyError: With what to install.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"federations over HTTPS need {', '.join(missing)}: pip install 'neuro-divergent[federated]'."
        )
