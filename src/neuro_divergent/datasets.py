"""Small data sets that need no download, to try things with: the tutorials use them."""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, package="neuro_divergent")
