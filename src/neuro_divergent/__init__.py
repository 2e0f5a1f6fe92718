"""Train neural forecasting models: a table in; trained models, forecasts with intervals and evidence out."""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
