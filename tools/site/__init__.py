"""Builds the documentation: pages, tutorials that run and a reference from docstrings come in, a site goes out.

Front door: ``python -m tools.site build``, which ``make docs`` calls.
"""
