"""``nd panel``: panels on disk, for more data than fits in memory."""

from neuro_divergent.interfaces.cli.panel.group import app

__all__ = ["app"]
