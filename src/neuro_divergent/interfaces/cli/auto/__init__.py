"""``nd auto``: the best forecast of a table within a time budget; resumes and shows searches."""

from neuro_divergent.interfaces.cli.auto.group import app

__all__ = ["app"]
