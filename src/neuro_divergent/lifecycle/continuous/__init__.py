"""Continuous training: new data come in, and versions of a model, forecasts and decisions come out.

``continuous.py`` is the front door: ``tick`` reads what is new, checks it, forecasts, compares forecasts with what
happened, and trains and replaces the model where that is called for. ``sources/`` has where rows come from,
``observations.py`` what was known when, and ``journal.py`` the state, which changes by one transaction per step.
"""
