"""Evaluation: forecasters or tables of forecasts come in; scores, comparisons and calibrated intervals go out.

Entry points: ``evaluate.evaluate`` (held-out part of a trained forecaster), ``cross_validation.cross_validate`` and
``backtest``, ``scoring.score`` (any table of forecasts), ``comparison.compare``, ``conformal.Conformal``,
``learning_curve.learning_curve``. ``metrics`` and ``probabilistic`` hold the formulas for arrays.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
