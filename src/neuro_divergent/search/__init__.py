"""Hyper-parameter search: ``space.py`` holds what may be tried, by hand, in TOML or from the knobs of the settings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
