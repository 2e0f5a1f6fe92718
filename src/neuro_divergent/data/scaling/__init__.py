"""Scaling: windows in the units of the data come in, values on the scale of the network come out, and back.

``pipeline.py`` is the entry point: it combines a series scaler (``series.py``) and a window scaler (``window.py``).
"""
