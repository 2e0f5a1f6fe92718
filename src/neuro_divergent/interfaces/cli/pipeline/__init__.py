"""``nd pipeline``: runs stages from a table to a registered model, and keeps their results."""

from neuro_divergent.interfaces.cli.pipeline.group import app

__all__ = ["app"]
