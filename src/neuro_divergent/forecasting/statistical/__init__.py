"""Statistical models: one model for each series, estimated without training a network.

A table of series comes in, forecasts with intervals go out. ``statistical.py`` is the entry point. ``methods/`` has the
models, ``naive.py`` the simple ones for many windows at once and ``library.py`` those of statsforecast, which is an
extra; ``seasonal_adjustment.py`` is for long seasons. ``fitted.py`` is the state, ``prediction.py`` makes forecasts
from it and ``artifact.py`` has its files.
"""
