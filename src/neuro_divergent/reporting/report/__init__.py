"""HTML reports of a run and of a comparison of models.

A run directory or a ``Comparison`` comes in; one self-contained page goes out. ``run.py`` and ``comparison.py`` are the
entry points; each fills the template of its name.
"""
