"""Figures and reports of runs and models.

Run directories, tables and trained models come in; figures (SVG, Plotly, terminal), HTML reports and descriptions of
models and settings go out. ``plots.py`` is the entry point for notebooks, ``report/run.py`` for the report of a run,
and ``run_figures.py`` lists the figures of a run by name.
"""
