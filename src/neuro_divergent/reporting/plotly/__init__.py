"""Figures as interactive Plotly charts.

A ``Figure`` comes in; the JSON of Plotly or a figure of its Python package goes out. ``figure.py`` is the entry point.
"""
