"""Figures as Plotly objects and as files."""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, package="neuro_divergent")
