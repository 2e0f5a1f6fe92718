"""The library behind the optimizers that torch does not have."""

from __future__ import annotations

from typing import Any

from neuro_divergent.core.errors import MissingDependencyError


def library(name: str) -> Any:
    """Return the package ``pytorch_optimizer``, which an optimizer of that name needs."""
    try:
        import pytorch_optimizer
    except ImportError:
        raise MissingDependencyError(
            f"optimizer {name!r} needs the package pytorch-optimizer, which is not installed. "
            'Run: pip install "neuro-divergent[optimizers]"'
        ) from None
    return pytorch_optimizer
