"""Forecasting: a table of series comes in; a fitted model and forecasts with intervals go out.

``forecaster.py`` is the entry point; ``protocol.py`` says what all models share and ``load.py`` reads saved ones.
``task.py`` is what to forecast, ``prepared_data.py`` the data ready to be trained on, ``training_phases.py`` trains on
them once or twice, ``fitted.py`` is the state of a fitted model, ``predictor.py`` and ``prediction_context.py`` make
forecasts from it, and ``artifact.py`` has its files.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
