"""Ensembles: several forecasters come in; one model with combined forecasts goes out.

``ensemble.py`` is the entry point.
"""
