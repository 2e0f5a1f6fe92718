"""Hierarchies: a forecaster and sums of series come in; forecasts that add up go out.

``hint.py`` is the entry point.
"""
