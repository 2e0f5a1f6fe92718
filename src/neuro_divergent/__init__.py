"""Train neural forecasting models: a table in; trained models, forecasts with intervals and evidence out."""

from neuro_divergent.core.lazy_names import attach

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
