"""Small data sets that need no download, to try things with: the tutorials use them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("neuro_divergent", __file__)
