"""Architectures: a config and a ``TaskSpec`` come in, a network comes out.

A network maps a ``Batch`` to outputs ``(batch, horizon, channel, outputs)``. ``base.py`` has the base class
``Architecture``; each architecture has its own file, found by the registry.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
