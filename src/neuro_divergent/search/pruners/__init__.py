"""Pruners: the results of a running trial come in, whether to end it goes out; ``base.py`` holds the contract."""

from neuro_divergent.search.pruners.base import Pruner

__all__ = ["Pruner"]
