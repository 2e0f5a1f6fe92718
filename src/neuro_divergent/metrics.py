"""Metrics of arrays: point forecasts, quantiles, intervals, densities and samples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("neuro_divergent", __file__)
