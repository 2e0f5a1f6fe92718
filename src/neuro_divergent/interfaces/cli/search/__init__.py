"""``nd search``: begins, resumes, shares and shows hyper-parameter searches."""

from neuro_divergent.interfaces.cli.search.group import app

__all__ = ["app"]
