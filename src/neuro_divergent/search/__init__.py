"""Hyper-parameter search: a forecaster and a table come in; trials, the best settings and a Pareto front go out.

``study.py`` is the front door, and ``space.py`` holds what may be tried. Optuna is an extra, imported when a study is
opened: ``pip install "neuro-divergent[search]"``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
