"""Hyper-parameter search: a forecaster and a table come in; trials, the best settings and a Pareto front go out.

``study.py`` is the front door, and ``space.py`` holds what may be tried. Optuna is an extra, imported when a study is
opened: ``pip install "neuro-divergent[search]"``.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
