"""Figures as Plotly objects and as files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("neuro_divergent", __file__)
