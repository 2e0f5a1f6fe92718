"""Scalers of windows and of series."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("neuro_divergent", __file__)
