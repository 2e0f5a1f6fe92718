"""Uncertainty: a trained network and validation windows come in; intervals and sample paths go out.

``residuals.py`` measures errors after training, ``intervals.py`` and ``copula.py`` hold them, and ``simulation.py`` is
the entry point for sample paths.
"""
