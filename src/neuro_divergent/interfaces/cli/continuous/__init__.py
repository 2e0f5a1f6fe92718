"""``nd continuous``: keeps a model up to date as data come in."""

from neuro_divergent.interfaces.cli.continuous.group import app

__all__ = ["app"]
