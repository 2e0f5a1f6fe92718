"""``nd registry``: versions of models, and the aliases that point at them."""

from neuro_divergent.interfaces.cli.registry.group import app

__all__ = ["app"]
