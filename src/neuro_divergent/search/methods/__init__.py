"""Search methods: the trials so far come in, the next point goes out; ``base.py`` holds the contract."""

from neuro_divergent.search.methods.base import Method

__all__ = ["Method"]
