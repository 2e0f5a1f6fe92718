"""Ensembles: several forecasters come in; one model with combined forecasts goes out.

``ensemble.py`` is the entry point; ``member_training.py`` trains the members and ``fitted.py`` forecasts with them.
"""
